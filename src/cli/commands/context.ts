import type { Command } from 'commander'
import type { Observable } from 'rxjs'
import type { Parts, Shell } from '../parts.js'

/** What a command is declared with: the arguments as they were typed, the process, and what the product is put together from. */
export interface CommandContext {
  readonly args: readonly string[]
  readonly shell: Shell
  readonly parts: Parts
  /** Waits for what a command does, and keeps its exit code. */
  readonly act: (code$: Observable<number>) => Promise<void>
}

/** Declares one command, with its options and examples, on the program. */
export type AddCommand = (program: Command, context: CommandContext) => void
