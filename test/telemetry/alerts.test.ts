import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createMetrics } from '../../src/telemetry/prometheus.js'

const toPath = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const rules = readFileSync(toPath('../../src/telemetry/alerts.yml'), 'utf8')
const dashboard = JSON.parse(readFileSync(toPath('../../src/telemetry/grafana-dashboard.json'), 'utf8')) as {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly type: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets?: readonly { readonly expr: string }[]
  }[]
}

const ruleExpressions = [...rules.matchAll(/^ +expr: (.+)$/gm)].map(([, expression = '']) => expression)
const panelExpressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** The metrics that a run serves, with their labels. */
const known = ((): ReadonlyMap<string, readonly string[]> => {
  const registry = new Registry()
  createMetrics({ registry, processMetrics: true })
  const all = registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string
    readonly labelNames: readonly string[]
  }[]
  return new Map(
    all.flatMap(({ name, labelNames }) => [
      [name, labelNames],
      ...(name.endsWith('_seconds') ? [[`${name}_bucket`, [...labelNames, 'le']] as const] : []),
    ]),
  )
})()

/** The metrics of an expression that do not exist, or whose label does not. */
const findUnknown = (expression: string): readonly string[] =>
  [...expression.matchAll(/\b((?:scripstream|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].flatMap(
    ([, name = '', selector = '']) => {
      const labels = known.get(name)
      if (labels === undefined) return [name]
      // The command adds the folder.
      const wrong = [...selector.matchAll(/(\w+) *[=!]/g)].filter(
        ([, label = '']) => !['folder', ...labels].includes(label),
      )
      return wrong.map(([, label]) => `${name} ${label}`)
    },
  )

describe('the alerts and the dashboard', () => {
  it('name metrics that a run has, with labels that they have', () => {
    expect([ruleExpressions.length, panelExpressions.length > 30]).toEqual([6, true])
    expect([...ruleExpressions, ...panelExpressions].flatMap(findUnknown)).toEqual([])
    expect(
      findUnknown('rate(scripstream_request_total[1h]) > scripstream_items_total{host!="x", stream="y"}'),
    ).toEqual(['scripstream_request_total', 'scripstream_items_total host'])
  })

  it('show the chosen folder in each panel', () => {
    const selectors = panelExpressions.flatMap((expr) => expr.match(/\w+\{[^}]*\}/g) ?? [])
    expect(selectors.filter((selector) => !selector.includes('folder=~"$folder"'))).toEqual([])
    expect(selectors.length).toBeGreaterThanOrEqual(panelExpressions.length)
  })

  it('have panels with an id each that do not overlap', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
  })
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

describe.skipIf(!hasPromtool)(
  `the alerts in Prometheus${hasPromtool ? '' : ' (skipped: promtool is not installed)'}`,
  () => {
    const check = async (...args: readonly string[]): Promise<string> =>
      (await promisify(execFile)('promtool', args)).stdout

    it('are valid rules', async () =>
      expect(await check('check', 'rules', toPath('../../src/telemetry/alerts.yml'))).toContain(
        '6 rules found',
      ))

    it('begin and end when they should', async () =>
      expect(await check('test', 'rules', toPath('alerts.promtool.yml'))).toContain('SUCCESS'))
  },
)
