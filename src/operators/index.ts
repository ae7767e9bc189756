/**
 * The RxJS operators of the graph, each usable by itself.
 *
 * @module scripstream/operators
 * @public
 */
export { barrier } from './barrier.js'
export { catchItemFailure } from './catch-item-failure.js'
export { type Deadline, deadline, type Transfer } from './deadline.js'
export { firstThatAnswers, type Tier } from './first-that-answers.js'
export { toRequestError } from './request-errors.js'
export { parseRetryAfter, retryAfter429, type ThrottlePolicy } from './retry-after-429.js'
export { type RetryOptions, type RetryPolicy, retryFailures } from './retry-failures.js'
export { sortDescending, uniqueBy } from './row-lists.js'
