import { UsageError } from '../model/errors.js'

/** Commands and options of earlier versions, and what to use now. */
const formerNames: ReadonlyMap<string, string> = new Map([
  ['plan', 'plan is now run --dry-run'],
  ['run --retry-failed', '--retry-failed is gone: run again; it requests what is missing'],
])

/** @throws UsageError for a former name, with what to use now */
export const rejectFormerName = (name: string): void => {
  const sentence = formerNames.get(name)
  if (sentence !== undefined) throw new UsageError(sentence)
}
