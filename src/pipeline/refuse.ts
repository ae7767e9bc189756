import { type RefusalCode, RefusedError } from '../market/never-worse.js'
import type { Tools } from './define-stream.js'

/** Refuses an answer, unless the run accepts what the rule refuses, which is told. */
export const refuse = ({ accepts, notice }: Pick<Tools, 'accepts' | 'notice'>, code: RefusalCode, message: string): void => {
  if (!accepts(code)) throw new RefusedError(code, message)
  notice(`accepted although ${message}`)
}
