export type { Message, OfferedTool, ProtocolName } from './protocol.ts';
export type { Action, Answer, Failure, Reply, Scenario, Tokens } from './scenario.ts';
export { USAGE } from './scenario.ts';
export { ModelServer, type Received } from './server.ts';
