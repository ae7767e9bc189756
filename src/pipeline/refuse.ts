import { type RefusalCode, RefusedError } from '../market/never-worse.js'
import type { Tools } from './define-stream.js'

/** Throws a `RefusedError`, or, if the run accepts this rule, adds a warning instead. */
export const refuse = ({ accepts, warn }: Pick<Tools, 'accepts' | 'warn'>, code: RefusalCode, message: string): void => {
  if (!accepts(code)) throw new RefusedError(code, message)
  warn(`accepted although ${message}`)
}
