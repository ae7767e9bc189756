import { describe, expect, it } from 'vitest'
import { readFleetAddress } from '../../src/fleet/options.js'
import { UsageError } from '../../src/model/errors.js'

describe('readFleetAddress', () => {
  it.each([
    ['redis://host', { url: 'redis://host', prefix: 'scripstream', shown: 'redis://host' }],
    [
      'redis://10.0.0.5:6379',
      { url: 'redis://10.0.0.5:6379', prefix: 'scripstream', shown: 'redis://10.0.0.5:6379' },
    ],
    ['rediss://host:1/3', { url: 'rediss://host:1/3', prefix: 'scripstream', shown: 'rediss://host:1/3' }],
    ['redis://[::1]:6379', { url: 'redis://[::1]:6379', prefix: 'scripstream', shown: 'redis://[::1]:6379' }],
    [
      'redis://host/0?prefix=nse',
      { url: 'redis://host/0', prefix: 'nse', shown: 'redis://host/0?prefix=nse' },
    ],
    [
      'redis://me:secret@host?prefix=a_b-1',
      { url: 'redis://me:secret@host', prefix: 'a_b-1', shown: 'redis://host?prefix=a_b-1' },
    ],
    ['redis://:p%25%2F@host', { url: 'redis://:p%25%2F@host', prefix: 'scripstream', shown: 'redis://host' }],
  ])('parses %s', (text, address) => {
    expect(readFleetAddress(text)).toEqual(address)
  })

  it.each([
    ['', 'is not the URL of a Redis server'],
    ['host:6379', 'is not the URL of a Redis server'],
    ['http://me:secret@host', 'is not the URL of a Redis server'],
    ['redis://', 'is not the URL of a Redis server'],
    ['redis://:secret/more@host', 'is not the URL of a Redis server'],
    ['redis://:secret#more@host', 'is not the URL of a Redis server'],
    ['redis://:secret@host/name', 'must be a database number'],
    ['redis://:secret@host/12345', 'must be a database number'],
    ['redis://:secret@host?prefix=', 'allows only ?prefix=NAME'],
    ['redis://:secret@host?prefix=a:b', 'allows only ?prefix=NAME'],
    ['redis://:secret@host?prefix=a*', 'allows only ?prefix=NAME'],
    ['redis://:secret@host?password=secret', 'allows only ?prefix=NAME after the "?"'],
    ['redis://:secret%zz@host', 'an invalid percent escape in its user or password'],
    ['redis://secret%:x@host', 'an invalid percent escape in its user or password'],
  ])('rejects %j without quoting it', (text, words) => {
    expect(() => readFleetAddress(text)).toThrow(UsageError)
    expect(() => readFleetAddress(text)).toThrow(words)
    expect(() => readFleetAddress(text)).not.toThrow('secret')
  })
})
