export { GhError, type GhFailure } from '../github/gh/error.ts';
export { type FailureContext, ghFailure, type HttpAnswer, splitAnswer } from '../github/gh/failure.ts';
export {
  parseRemote,
  parseRepository,
  type RepositoryName,
  repositoryText,
} from '../github/gh/repository-name.ts';
export { type GhOptions, type GhResult, runGh } from '../github/gh/run-gh.ts';
export { type Ordered, orderByDependencies } from '../model/plans/order.ts';
export { acceptanceCriteria } from './criteria.ts';
export { type FetchResult, fetchItems } from './fetch.ts';
export { listGithub } from './github/list.ts';
export type { FetchOptions, Source, SourceProblem, WorkItem } from './item.ts';
export { listLinear } from './linear/list.ts';
export type { Listed, ListFilter } from './list.ts';
export { issueInFile } from './markdown.ts';
export { dependencyMentions, labelMentions } from './mentions.ts';
export { type IssueInfo, joinNumbered, numberedItem, numberOfKey } from './numbered.ts';
export { parseReference, type Reference, referenceFromKey } from './reference.ts';
export { ownRepository, type RepositoryMemory } from './repository.ts';
