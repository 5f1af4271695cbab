function n(){return null}function e(){return null}export{n as AgentPage,e as NewAgentPage};
