import { sectionNames } from '../../analysis/diff/change.js'
import { checkNames } from '../../analysis/verify/finding.js'
import { refusalCodes } from '../../market/refusal-policy.js'
import type { AddCommand } from '../dependencies.js'
import { succeed } from '../dependencies.js'
import { targetForms } from '../export/targets.js'
import { choiceArgument, exampleText } from '../options.js'
import { resolveSettings } from '../provider.js'
import { complete, formatCompletion, type Placeholders } from './complete.js'
import { type Shell, scripts } from './scripts.js'

const examples = [
  ["echo 'source <(scripstream completion bash)' >> ~/.bashrc", 'bash: takes effect in new shells'],
  ["echo 'source <(scripstream completion zsh)' >> ~/.zshrc", 'zsh: add it after compinit; takes effect in new shells'],
  ['scripstream completion fish > ~/.config/fish/completions/scripstream.fish', 'fish: takes effect at once'],
] as const

export const addCompletion: AddCommand = (program, { io, dependencies, act }) => {
  const names = dependencies.streams.map(({ name }) => name)
  const known: Placeholders = {
    stream: { kind: 'word', words: names },
    streams: { kind: 'list', words: names },
    checks: { kind: 'list', words: checkNames },
    kinds: { kind: 'list', words: sectionNames },
    rules: { kind: 'list', words: refusalCodes },
    target: { kind: 'target', words: targetForms },
  }
  const listWatchlists = (): readonly string[] => {
    try {
      return Object.keys(resolveSettings({}, io, dependencies).watchlists).map((name) => `@${name}`)
    } catch {
      // The command itself says what is wrong with the settings.
      return []
    }
  }
  program
    .command('completion')
    .description('Prints a shell completion script for commands, options and their values.')
    .addArgument(choiceArgument('<shell>', 'name of the shell', Object.keys(scripts)))
    .argument('[words...]', 'what has been typed: prints what the script offers for it')
    .addHelpText('after', exampleText(examples))
    .action((shell: Shell, typed: readonly string[]) => {
      const text =
        typed.length === 0
          ? scripts[shell]
          : formatCompletion(complete(program, { ...known, symbols: { kind: 'symbols', words: listWatchlists() } }, typed), shell)
      return act(succeed(() => io.stdout.write(text)))
    })
}
