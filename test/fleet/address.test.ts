import { describe, expect, it } from 'vitest'
import { readFleetAddress } from '../../src/fleet/address.js'
import { UsageError } from '../../src/model/errors.js'

describe('the address of a fleet', () => {
  it.each([
    ['redis://host', { url: 'redis://host', prefix: 'scripstream', shown: 'redis://host' }],
    ['redis://10.0.0.5:6379', { url: 'redis://10.0.0.5:6379', prefix: 'scripstream', shown: 'redis://10.0.0.5:6379' }],
    ['rediss://host:1/3', { url: 'rediss://host:1/3', prefix: 'scripstream', shown: 'rediss://host:1/3' }],
    ['redis://[::1]:6379', { url: 'redis://[::1]:6379', prefix: 'scripstream', shown: 'redis://[::1]:6379' }],
    ['redis://host/0?prefix=nse', { url: 'redis://host/0', prefix: 'nse', shown: 'redis://host/0?prefix=nse' }],
    ['redis://me:secret@host?prefix=a_b-1', { url: 'redis://me:secret@host', prefix: 'a_b-1', shown: 'redis://host?prefix=a_b-1' }],
    ['redis://:p%25%2F@host', { url: 'redis://:p%25%2F@host', prefix: 'scripstream', shown: 'redis://host' }],
  ])('is read from %s', (text, address) => {
    expect(readFleetAddress(text)).toEqual(address)
  })

  it.each([
    ['', 'no address of a Redis server'],
    ['host:6379', 'no address of a Redis server'],
    ['http://me:secret@host', 'no address of a Redis server'],
    ['redis://', 'no address of a Redis server'],
    ['redis://:secret/more@host', 'no address of a Redis server'],
    ['redis://:secret#more@host', 'no address of a Redis server'],
    ['redis://:secret@host/name', 'names no database by number'],
    ['redis://:secret@host/12345', 'names no database by number'],
    ['redis://:secret@host?prefix=', 'may hold a prefix of letters'],
    ['redis://:secret@host?prefix=a:b', 'may hold a prefix of letters'],
    ['redis://:secret@host?prefix=a*', 'may hold a prefix of letters'],
    ['redis://:secret@host?password=secret', 'nothing else after the "?"'],
    ['redis://:secret%zz@host', 'a user or a password that cannot be read'],
    ['redis://secret%:x@host', 'a user or a password that cannot be read'],
  ])('is refused in %j, in words that do not repeat it', (text, words) => {
    expect(() => readFleetAddress(text)).toThrow(UsageError)
    expect(() => readFleetAddress(text)).toThrow(words)
    expect(() => readFleetAddress(text)).not.toThrow('secret')
  })
})
