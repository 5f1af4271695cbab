/**
 * Allows links to the web, to mail and within the page, never to scripts. Allows only inline images
 * (data URLs).
 */
export function safeUrl(url: string, key: string): string {
  const schemes = key === "src" ? ["data:image/"] : ["http:", "https:", "mailto:"];
  const plain = url.trim().toLowerCase();
  if (schemes.some((s) => plain.startsWith(s))) return url;
  return plain.startsWith("#") && key !== "src" ? url : "";
}
