export function typesOf(document: unknown): Promise<string>;
