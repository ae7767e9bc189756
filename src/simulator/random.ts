import type { Random } from '../model/market.js'

/** Pseudo-random numbers. Equal seeds and keys give equal numbers in every process, in any order of calls. */
export const createRandom = (seed: number, ...key: readonly (string | number)[]): Random =>
  createRandomFrom(hashText([seed, ...key].join('\u0000')))

export const createRandomFrom = (state: number): Random => {
  const next = mulberry32(state)
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  const pick: Random['pick'] = (list) => list[int(0, list.length - 1)] ?? list[0]
  return {
    next,
    int,
    pick,
    decimal: (min, max, digits = 2) => drawDecimal(next(), min, max, Number(`1e${digits}`)),
    chance: (probability) => next() < probability,
    fill: (text) =>
      text.replace(/\{([^}]+)\}/g, (_, choices: string) => {
        const [least = 0, most] = choices.split('..').map(Number)
        return most === undefined ? pick(choices.split('|') as [string]) : String(int(least, most))
      }),
  }
}

/** About normal, with a deviation of 1; never beyond 2.5. */
export const drawBell = ({ next }: Random): number => (next() + next() - 1) * 2.449

/** The lines of a table in a text, and their cells. */
export const readLines = (text: string): readonly (readonly string[])[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|'))

/**
 * A permutation of 0 … size-1 without a table: distinct positions get distinct numbers, and a longer list
 * starts like a shorter one.
 */
export const createPermutation = (size: number, offset: number): ((position: number) => number) => {
  let step = Math.ceil(size * 0.618)
  while (greatestCommonDivisor(step, size) !== 1) step += 1
  return (position) => (position * step + offset) % size
}

// Counts in whole steps, so that the result is neither below `min` nor rounded up to `max`.
const drawDecimal = (share: number, min: number, max: number, scale: number) => {
  const first = Math.ceil(min * scale - 1e-9)
  const end = Math.ceil(max * scale - 1e-9)
  return (first + Math.floor(share * Math.max(0, end - first))) / scale
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b)

// FNV-1a with the finaliser of MurmurHash3: similar keys must not give similar sequences.
const hashText = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

const mulberry32 = (seed: number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
