/**
 * The errors of runs, requests and settings. Each has a `verdict`, which says what the collector does after
 * it, and a `code` for programs; `name` tells the classes apart.
 *
 * @module scripstream/errors
 * @public
 */
export { type RefusalCode, RefusedError } from './market/refusal-policy.js'
export {
  BadAnswerError,
  CollectError,
  DamagedFileError,
  type ErrorCode,
  errorCodes,
  HostClosedError,
  HostDownError,
  HttpError,
  InternalError,
  NothingAnsweredError,
  refusals,
  type Status,
  StorageError,
  ThrottledError,
  TransportError,
  UsageError,
} from './model/errors.js'
