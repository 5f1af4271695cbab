/** Links lead to the web or to mail, never to scripts; images are in the text, or of this server. */
export function safeUrl(url: string, key: string): string {
  const schemes = key === "src" ? ["data:image/"] : ["http:", "https:", "mailto:"];
  const plain = url.trim().toLowerCase();
  if (schemes.some((s) => plain.startsWith(s))) return url;
  return plain.startsWith("#") && key !== "src" ? url : "";
}
