import { Command, CommanderError } from 'commander'
import { lastValueFrom } from 'rxjs'
import type { CommandContext } from './commands/context.js'
import { commands } from './commands/index.js'
import { exampleText } from './help.js'
import type { Parts, Shell } from './parts.js'
import { tellError } from './tell.js'
import { sizeOf } from './terminal.js'

const examples = [
  ['scripstream run --simulate', 'the whole graph on made-up data, nothing to set up'],
  ['scripstream run', 'the whole graph on the provider that is set'],
  ['scripstream run --help', 'options and settings of a run'],
] as const

/** Runs the command that was typed (`args` is what follows `scripstream`) and tells its exit code; never rejects. */
export const runProgram = async (args: readonly string[], shell: Shell, parts: Parts): Promise<number> => {
  let code = 0
  const act: CommandContext['act'] = async (code$) => {
    code = await lastValueFrom(code$, { defaultValue: 1 })
  }
  try {
    const program = programOf({ args, shell, parts, act })
    await program.parseAsync([...understood(args, program)], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return tellError(error, shell)
  }
}

/** Help on a command that there is not: its name alone, which is told with the one that was meant. */
const understood = (args: readonly string[], { commands: known }: Command): readonly string[] => {
  const [help, name] = args
  const isUnknown = help === 'help' && name !== undefined && !known.some((command) => command.name() === name)
  return isUnknown ? [name] : args
}

/** The program with all its commands. */
export const programOf = (context: CommandContext): Command => {
  const { shell, parts } = context
  const program = new Command('scripstream')
    .description('Collects Indian exchange-listed equity data: every collection script a stream, one command for the whole market.')
    .version(parts.version)
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => void shell.stdout.write(text),
      writeErr: (text) => void shell.stderr.write(text),
      getOutHelpWidth: () => sizeOf(shell.stdout).columns,
      getErrHelpWidth: () => sizeOf(shell.stderr).columns,
    })
    .addHelpText('after', exampleText(examples))
  for (const add of commands) add(program, context)
  return program
}
