const browsers: [RegExp, string][] = [
  [/\bEdg\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/\bHeadlessChrome\/|\bChrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const systems: [RegExp, string][] = [
  [/\bAndroid\b/, "Android"],
  [/\biPhone\b|\biPad\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Returns a browser's common name, such as "Firefox on Linux". An unknown one is returned as it is.
 */
export function browserName(agent: string): string {
  const of = (names: [RegExp, string][]) => names.find(([is]) => is.test(agent))?.[1];
  const browser = of(browsers);
  const system = of(systems);
  if (!browser) return agent.slice(0, 60) || "Unknown";
  return system ? `${browser} on ${system}` : browser;
}
