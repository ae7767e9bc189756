import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import { checkRequirements, planRun, type Selection } from '../../src/pipeline/plan.js'
import { createCall, tiny, tinyMaster } from '../support/tiny.js'

const news = { ...createCall('news'), host: 'news' } as const
const sheet = { ...createCall('sheet'), host: 'sheet' } as const
const streams = [
  tinyMaster,
  tiny('market-news', { endpoints: [createCall('a'), news] }),
  tiny('lists', { endpoints: [sheet, sheet], requires: ['sheetId', 'asmTabId'] }),
]
const settingsOf = (given: SettingsInput) => Settings.parse(given)
const checking = (given: SettingsInput, selection: Selection = {}) => {
  const settings = settingsOf(given)
  return () => checkRequirements(planRun(streams, settings, selection), settings)
}
const every: SettingsInput = {
  urls: { static: 'http://a.test', news: 'http://b.test', sheet: 'http://c.test' },
  sheetId: 'sheet',
  asmTabId: '0',
}

describe('checkRequirements', () => {
  it('passes if all required settings are present', () => {
    expect(checking(every)).not.toThrow()
  })

  it('names every missing setting once, with its variable, its streams and the remedy', () => {
    const lines = [
      'not set:',
      '  SCRIPSTREAM_STATIC_URL (urls.static), needed by master-data, market-news',
      '  SCRIPSTREAM_NEWS_URL (urls.news), needed by market-news',
      '  SCRIPSTREAM_SHEET_URL (urls.sheet), needed by lists',
      '  SCRIPSTREAM_SHEET_ID (sheetId), needed by lists',
      '  SCRIPSTREAM_ASM_TAB_ID (asmTabId), needed by lists',
      'Set the variables, or the names in brackets in scripstream.config.json.',
    ]

    const paths = ['urls.static', 'urls.news', 'urls.sheet', 'sheetId', 'asmTabId']
    const issues = paths.map((path, index) => ({ path, message: `${lines[index + 1]}`.trim() }))

    expect(checking({})).toThrow(new UsageError(lines.join('\n'), { code: 'missing-setting', issues }))
  })

  it('does not require settings of skipped streams', () => {
    const { urls, ...others } = every

    expect(checking({ urls: { static: 'http://a.test' } }, { only: ['master-data'] })).not.toThrow()
    expect(checking({ urls, ...others }, { skip: ['lists'] })).not.toThrow()
    expect(checking({ urls }, { skip: ['lists'] })).not.toThrow()
    expect(checking({ urls })).toThrow(/SCRIPSTREAM_SHEET_ID/)
  })

  it('requires the settings of an indirectly added stream', () => {
    expect(checking({ urls: { news: 'http://b.test' } }, { only: ['market-news'] })).toThrow(/needed by master-data, market-news/)
  })
})
