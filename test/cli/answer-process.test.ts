import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAnswerProcesses } from '../../src/cli/answer-process.js'
import { folderWith } from '../tables/support.js'

/** Replaces the command that answers by one that notes its starts, and prints the reply for its place. */
const answerWith = (...replies: readonly object[]) => {
  const out = folderWith({ 'starts.txt': '' })
  const command = join(out, 'answers.cjs')
  writeFileSync(
    command,
    `const { appendFileSync, readFileSync } = require('node:fs')
    const starts = ${JSON.stringify(join(out, 'starts.txt'))}
    appendFileSync(starts, '.')
    const reply = ${JSON.stringify(replies)}[readFileSync(starts, 'utf8').length - 1]
    process.stdin.once('data', () => console.log(JSON.stringify(reply)))`,
  )
  const { argv } = process
  process.argv = [process.execPath, command]
  onTestFinished(() => {
    process.argv = argv
  })
  const { show } = createAnswerProcesses({ out, streams: [] })
  return {
    show: () => show({ show: 'market' } as never),
    countStarts: () => readFileSync(join(out, 'starts.txt'), 'utf8').length,
  }
}

const lacksMemory = { refusal: 'the question needs more memory than it may use' }

describe('an answer of the page', () => {
  it('is asked for once more, in a new process, if there was not enough memory for it and for the first filling of the lake', async () => {
    const { show, countStarts } = answerWith(lacksMemory, { answer: { stocks: 2 }, bytes: 1e9 })
    expect(await show()).toEqual({ stocks: 2 })
    expect(countStarts()).toBe(2)
  })

  it('is refused after the second time, and at once for another reason', async () => {
    const twice = answerWith(lacksMemory, lacksMemory, { answer: 1, bytes: 1e9 })
    await expect(twice.show()).rejects.toThrow('more memory than it may use')
    expect(twice.countStarts()).toBe(2)
    const other = answerWith({ refusal: 'no such table' }, { answer: 1, bytes: 1e9 })
    await expect(other.show()).rejects.toThrow('no such table')
    expect(other.countStarts()).toBe(1)
  })
})
