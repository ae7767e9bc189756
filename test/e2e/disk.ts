import { expect } from 'vitest'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { run } from './command.js'

export const DAY_ARGS = ['--as-of', '2026-02-12T20:00:00+05:30']

/** The outputs of a run with nothing in its way, which ends with 0. */
const undisturbed = async (env: Record<string, string>): Promise<ReturnType<typeof hashOutputs>> => {
  const out = temporaryFolder()
  expect((await run(['run', ...DAY_ARGS, '--out', out], { cwd: out, env })).code).toBe(0)
  return hashOutputs(out)
}
let outputs: ReturnType<typeof undisturbed> | undefined
/** They are the same for every test: the market is. */
export const expectedOutputs = (env: Record<string, string>) => (outputs ??= undisturbed(env))

/** Joins the wrapped lines of the summary. */
export const onOneLine = (text: string): string => text.replace(/\s+/g, ' ')

/** What starts a command in a shell whose line ends with a redirection. */
export const redirectTo = (line: string): readonly string[] => ['sh', '-c', `exec "$@" ${line}`, 'sh']
