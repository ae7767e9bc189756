import { describe, expect, it } from 'vitest'
import { followFlight, readFlightChunks } from '../../src/market/flight-data.js'

describe('flight data', () => {
  const follow = (text: string, value: unknown) => followFlight(readFlightChunks(text), value)

  it.each([
    ['a text of several lines', '1:T5,a\n:b\n2:"x"\n', '$1', 'a\n:b\n'],
    ['what stands after a text', '1:Tb,é\n2:"no"\n\n2:"x"\n', '$2', 'x'],
    ['an escaped text', '', '$$5', '$5'],
    ['props of an element', '1:["$","p",null,{"a":[7]}]\n', '$1:props:a:0', 7],
    ['a reference in a path', '1:{"a":"$2"}\n2:{"b":3}', '$1:a:b', 3],
    ['nothing', '', '$undefined', undefined],
    ['a chunk that is not there', '', '$5:a', undefined],
    ['a chunk that was cut', '5:{"a"', '$5', undefined],
  ])('has %s', (_, text, value, expected) => expect(follow(text, value)).toEqual(expected))

  it('ends references that lead to themselves', () => {
    const path = ':a'.repeat(1_000)
    expect(follow(`1:{"a":"$1${path}"}\n`, `$1${path}`)).toBeUndefined()
  })
})
