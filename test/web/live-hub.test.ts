import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { FolderState } from '../../src/web/api/state.js'
import { createLiveHub } from '../../src/web/server/live-hub.js'
import { tinyRegistry } from '../cli/support.js'
import { until } from '../support/until.js'
import { followLive, parseEvents, started } from './support.js'

const NAMES = ['master-data', 'market-news', 'surveillance-lists']

/** A connection that takes everything, until it is slow. */
class Connection extends EventEmitter {
  text = ''
  isSlow = false
  hasEnded = false
  writeHead = (): this => this
  write = (text: string): boolean => {
    this.text += text
    return !this.isSlow
  }
  end = (text: string, taken: () => void): void => {
    this.write(text)
    this.hasEnded = true
    if (!this.isSlow) taken()
  }
  get events() {
    return parseEvents(this.text)
  }
}

const readState = async () => ({ isActive: false }) as FolderState

const setUp = () => {
  const tick$ = new Subject<void>()
  let live = followLive(tinyRegistry)
  let reportTime: number | undefined
  let isSimulated = false
  const hub = createLiveHub(() => live.state(2_000), {
    tick$,
    readReportTime: () => reportTime,
    readIsSimulated: () => isSimulated,
  })
  const begin = (run: string): void => {
    live = followLive(tinyRegistry)
    live.event(started(NAMES, { run }))
  }
  const report = (at: number): void => {
    reportTime = at
  }
  const simulate = (): void => {
    isSimulated = true
  }
  const finish = (item: string): void =>
    live.event({ type: 'item-finished', stream: 'market-news', item, status: 'success' })
  const open = (lastEventId?: string): Connection => {
    const connection = new Connection()
    hub.open(connection as unknown as ServerResponse, lastEventId)
    return connection
  }
  return {
    tick: () => tick$.next(),
    isTicking: () => tick$.observed,
    begin,
    report,
    simulate,
    finish,
    open,
    hub,
  }
}

describe('readers of a run', () => {
  it('get to know that the data is simulated once the run has stored some', () => {
    const { begin, open, simulate, tick } = setUp()
    begin('r1')
    const reader = open()
    simulate()
    tick()
    tick()
    expect(reader.events.map(({ type, data }) => [type, data.isSimulated])).toEqual([
      ['snapshot', false],
      ['snapshot', true],
    ])
  })

  it('get the present state, then only the streams that changed', () => {
    const { begin, finish, open, tick } = setUp()
    begin('r1')
    const reader = open()
    tick()
    finish('TCS')
    tick()
    tick()
    expect(reader.events.map(({ type }) => type)).toEqual(['snapshot', 'change'])
    expect(reader.events[0]?.data.run?.streams.map(({ name }) => name)).toEqual(NAMES)
    expect(reader.events[1]?.data.streams).toMatchObject([
      { name: 'market-news', done: 1, marbles: [['TCS', 'success']] },
    ])
    expect(reader.events[1]?.data.summary).toMatchObject({ run: 'r1', done: 1 })
    expect(reader.events[1]?.data.summary).not.toHaveProperty('phases')
  })

  it('that join late get the state at once', () => {
    const { begin, finish, open, tick } = setUp()
    begin('r1')
    open()
    for (const item of ['A', 'B', 'C']) {
      finish(item)
      tick()
    }
    finish('D')
    const late = open()
    expect(late.events).toHaveLength(1)
    expect(late.events[0]?.data.run?.streams[1]).toMatchObject({ done: 4 })
  })

  it('that come back get what they have missed, by the id of their last event', () => {
    const { begin, finish, open, tick } = setUp()
    begin('r1')
    const first = open()
    const last = (): string => first.events.at(-1)?.id ?? ''
    finish('A')
    tick()
    const afterA = last()
    for (const item of ['B', 'C']) {
      finish(item)
      tick()
    }
    const again = open(afterA)
    expect(again.events).toEqual(first.events.slice(-2))
    expect(open(last()).events).toEqual([])
    for (const unknown of ['other-1', `${afterA}9`, 'x'])
      expect(open(unknown).events.map(({ type }) => type)).toEqual(['snapshot'])
  })

  it('that come back after too many changes get a snapshot', () => {
    const { begin, finish, open, tick } = setUp()
    begin('r1')
    const first = open()
    const id = first.events[0]?.id
    for (let index = 0; index <= 200; index += 1) {
      finish(`S${index}`)
      tick()
    }
    expect(open(id).events.map(({ type }) => type)).toEqual(['snapshot'])
    expect(open(first.events[1]?.id).events).toHaveLength(200)
  })

  it('get a snapshot when another run begins', () => {
    const { begin, open, tick } = setUp()
    const reader = open()
    begin('r1')
    tick()
    begin('r2')
    tick()
    expect(reader.events.map(({ type, data }) => [type, data.run?.run])).toEqual([
      ['snapshot', undefined],
      ['snapshot', 'r1'],
      ['snapshot', 'r2'],
    ])
  })

  it('get a snapshot when a run ended that was too short to be seen', () => {
    const { report, open, tick } = setUp()
    const reader = open()
    report(5)
    tick()
    tick()
    report(9)
    tick()
    expect(reader.events.map(({ data }) => data)).toEqual(
      [null, 5, 9].map((time) => ({ run: null, report: time, isSimulated: false })),
    )
    expect(open(reader.events.at(-1)?.id).events).toEqual([])
    expect(open(reader.events[0]?.id).events.map(({ data }) => data.report)).toEqual([9])
  })

  it('that are slow cost no memory: they get the present state once they can read again', () => {
    const { begin, finish, open, tick } = setUp()
    begin('r1')
    const [slow, other] = [open(), open()]
    slow.isSlow = true
    for (let index = 0; index < 1_000; index += 1) {
      finish(`S${index}`)
      tick()
    }
    // The snapshot, and the change that it did not take.
    expect(slow.events).toHaveLength(2)
    expect(other.events).toHaveLength(1_001)
    slow.isSlow = false
    slow.emit('drain')
    expect(slow.events).toHaveLength(3)
    expect(slow.events[2]).toMatchObject({
      type: 'snapshot',
      id: other.events.at(-1)?.id,
      data: { run: { done: 1_000 } },
    })
    finish('last')
    tick()
    expect(slow.events.at(-1)).toEqual(other.events.at(-1))
  })

  it('are looked after only while there are any', () => {
    const { begin, open, isTicking, hub } = setUp()
    begin('r1')
    expect(isTicking()).toBe(false)
    const [one, other] = [open(), open()]
    one.emit('close')
    expect(isTicking()).toBe(true)
    other.emit('close')
    expect(isTicking()).toBe(false)
    open()
    void hub.close(readState)
    expect(isTicking()).toBe(false)
  })

  it('get how the folder stands at the end; nobody waits longer than two looks for one that is slow', async () => {
    const { begin, open, report, tick, isTicking, hub } = setUp()
    await hub.close(() => expect.unreachable('nobody reads'))
    begin('r1')
    const [reader, slow] = [open(), open()]
    slow.isSlow = true
    report(5)
    let isClosed = false
    const closed = hub.close(readState).then(() => {
      isClosed = true
    })
    await until('the wait for a slow reader', isTicking)
    expect(reader.events.at(-1)).toMatchObject({
      type: 'snapshot',
      data: { run: null, report: 5, state: { isActive: false } },
    })
    tick()
    await Promise.resolve()
    expect({ isClosed, ended: [reader.hasEnded, slow.hasEnded] }).toEqual({
      isClosed: false,
      ended: [true, true],
    })
    tick()
    await closed
    expect(isTicking()).toBe(false)
  })
})
