/** Reasoning efforts, from least to most; adapters take the nearest that their CLI has. */
export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
