import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { formatGraph, listDocument, listLines } from '../../src/cli/list.js'
import { get } from '../../src/http/endpoint.js'
import { BadAnswerError } from '../../src/model/errors.js'
import { defineTestStream, tinyRegistry, toTexts } from './support.js'

const sheet = get({
  name: 'sheet',
  host: 'sheet',
  path: '/d/{id}/tq?a=1&b="2"',
  input: z.object({ id: z.string() }),
  read: () => {
    throw new BadAnswerError('schema', 'never asked')
  },
  sample: () => '',
})
const parts = ['asm', 'gsm'].map((fileName, rank) => ({ key: fileName, rank, fileName, value: fileName }))
const lists = defineTestStream({
  name: 'surveillance-lists',
  phase: 'enrichment',
  workers: 2,
  endpoints: [sheet],
  work: { parts, each: tinyRegistry[0]?.work.each ?? (() => expect.unreachable()) },
  outputs: [{ shape: 'array-per-item', file: '{exch}_{list}_list.json' }],
})
const registry = [...tinyRegistry.slice(0, 2), lists]

describe('list', () => {
  test('shows streams by phase with workers, sources, requests and files', () => {
    expect(toTexts(listLines(registry), 80)).toEqual([
      'phase 1: core (one after the other)',
      '  master-data',
      '      the master-data',
      '      1 worker, the run stops if it fails',
      '      writes master-data.csv',
      '',
      'phase 2: enrichment (in parallel)',
      '  market-news',
      '      the market-news',
      '      15 workers, follows master-data',
      '      writes market_news/{symbol}_news.json',
      '  surveillance-lists',
      '      the surveillance-lists',
      '      2 workers',
      '      requests GET sheet /d/{id}/tq?a=1&b="2"',
      '      writes {exch}_asm_list.json, {exch}_gsm_list.json',
    ])
  })

  test('prints the same as JSON', () => {
    expect(listDocument(registry)[2]).toEqual({
      name: 'surveillance-lists',
      optional: false,
      summary: 'the surveillance-lists',
      phase: 'enrichment',
      workers: 2,
      timeoutMs: 1_000,
      critical: false,
      follows: null,
      endpoints: [{ name: 'sheet', method: 'GET', host: 'sheet', path: '/d/{id}/tq?a=1&b="2"' }],
      outputs: [
        { shape: 'array-per-item', file: '{exch}_asm_list.json' },
        { shape: 'array-per-item', file: '{exch}_gsm_list.json' },
      ],
    })
  })
})

describe('graph', () => {
  test('draws phases, streams, their sources and files, and the barriers', () => {
    expect(formatGraph(registry).split('\n')).toEqual([
      'flowchart LR',
      '  subgraph core["phase 1: core (one after the other)"]',
      '    s_master_data["master-data<br/>1 worker"]',
      '  end',
      '  subgraph enrichment["phase 2: enrichment (in parallel)"]',
      '    s_market_news["market-news<br/>15 workers"]',
      '    s_surveillance_lists["surveillance-lists<br/>2 workers<br/>GET sheet /d/{id}/tq?a=1#38;b=#34;2#34;"]',
      '  end',
      '  core --> barrier_first{{"barrier"}}',
      '  barrier_first --> enrichment',
      '  enrichment --> barrier_last',
      '  barrier_last{{"barrier"}} --> report(["run report"])',
      '  s_master_data -. rows .-> s_market_news',
      '  s_master_data --> s_master_data_out[("master-data.csv")]',
      '  s_market_news --> s_market_news_out[("market_news/{symbol}_news.json")]',
      '  s_surveillance_lists --> s_surveillance_lists_out[("{exch}_asm_list.json<br/>{exch}_gsm_list.json")]',
      '',
    ])
  })

  test('puts the streams of the first phase in a row', () => {
    const core = ['a', 'b', 'c'].map((name) => defineTestStream({ name, phase: 'core' }))
    expect(formatGraph(core)).toContain('\n    s_a --> s_b --> s_c\n  end\n  core --> barrier_last\n')
  })

  test('draws nothing for an empty registry', () => expect(formatGraph([])).toBe('flowchart LR\n'))
})
