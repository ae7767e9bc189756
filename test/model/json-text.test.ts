import fc from 'fast-check'
import { expect, it } from 'vitest'
import { scanJson } from '../../src/config.js'

const isJson = (text: string): boolean => {
  try {
    return text.trim().startsWith('{') && JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

// The place of a name is known by its path, whose parts have a dot between them.
const NAME = fc.string().filter((name) => !name.includes('.'))
const OBJECT = fc.dictionary(NAME, fc.jsonValue()).map((value) => JSON.stringify(value, null, 2))

it('finds no mistake in an object of JSON, and the line of each of its names', () => {
  fc.assert(
    fc.property(OBJECT, (text) => {
      const { lines, mistake } = scanJson(text)
      expect(mistake).toBeUndefined()
      const names = text.split('\n').flatMap((line, index) => {
        const name = /^ {2}("(?:[^"\\]|\\.)*"): /.exec(line)?.[1]
        return name === undefined ? [] : [[name.slice(1, -1), index + 1] as const]
      })
      for (const [name, line] of names) expect(lines.get(name)).toBe(line)
    }),
  )
})

it('finds a mistake wherever JSON.parse does', () => {
  const change = fc.tuple(
    OBJECT,
    fc.nat(),
    fc.constantFrom('', '"', ',', '}', ']', '{', '[', ':', '\\', '0', 'x', '\n'),
    fc.nat(2),
  )
  fc.assert(
    fc.property(change, ([text, place, inserted, removed]) => {
      const at = place % text.length
      const changed = text.slice(0, at) + inserted + text.slice(at + removed)
      // A comma before the end of a list or object is allowed.
      fc.pre(isJson(changed) || !/,\s*[}\]]/.test(changed))
      expect(scanJson(changed).mistake === undefined).toBe(isJson(changed))
    }),
    { numRuns: 2_000 },
  )
})
