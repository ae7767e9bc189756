/**
 * The RxJS operators of the graph, each usable by itself, and the limiter of a host for any pipeline.
 *
 * @module scripstream/operators
 * @public
 */

export { parseRetryAfter } from '../model/text.js'
export { barrier } from '../operators/barrier.js'
export { catchItemFailure } from '../operators/catch-item-failure.js'
export { deadline } from '../operators/deadline.js'
export { firstThatAnswers } from '../operators/first-that-answers.js'
export { toRequestError } from '../operators/request-errors.js'
export { retryAfter429 } from '../operators/retry-after-429.js'
export { type RetryOptions, retryFailures } from '../operators/retry-failures.js'
export { sortDescending, uniqueBy } from '../operators/row-lists.js'
export {
  createLimiter,
  type LimiterOptions,
  type RequestLimiter,
} from './create-limiter.js'
