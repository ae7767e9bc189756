import { UsageError } from '../model/errors.js'
import { findClosest, suggest } from '../model/text.js'

/** Checks what the compiler does not see in JavaScript. @throws UsageError for an unknown option, or a number that is not 0 or more */
export const checkOperatorOptions = (operator: string, options: object, known: readonly string[]): void => {
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) throw new UsageError(`${operator}: unknown option "${name}"${suggest(findClosest(name, known))}`)
    if (typeof value === 'number' && !(value >= 0)) throw new UsageError(`${operator}: ${name} is ${value}; use a number from 0 on`)
  }
}
