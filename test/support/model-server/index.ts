export type { ProtocolName } from './protocol.ts';
export type { Scenario, Tokens } from './scenario.ts';
export { USAGE } from './scenario.ts';
export { ModelServer, type Received } from './server.ts';
