import { debuglog } from 'node:util'
import { formatError } from '../model/errors.js'

const log = debuglog('scripstream-fleet')

/**
 * Handles an error that needs no reaction: logs it if `NODE_DEBUG=scripstream-fleet` is set. Each caller says
 * in a comment why the error can be ignored. `what` names the failed operation.
 */
export const ignoreError = (what: string) => (error: unknown) => {
  log('ignored: %s: %s', what, formatError(error))
  return undefined
}
