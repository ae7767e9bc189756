import { StorageError } from '../model/errors.js'

/** The job belongs to another worker by now, so its outcome here does not count. */
export class JobReassignedError extends Error {}

/** Whether another attempt may succeed, here or on another machine: after errors of disk, network or queue, not after bugs. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof JobReassignedError ||
  error instanceof StorageError ||
  (error instanceof Error && ('code' in error || error.name === 'ReplyError' || error.name === 'RateLimitError'))
