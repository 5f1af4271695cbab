export function AgentPage() {
  return null;
}
export function NewAgentPage() {
  return null;
}
