import { flattenSettings } from '../../config.js'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import { isConfidential } from '../../model/settings-issues.js'
import { renderFittingTable, type TextColumn, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

/** A setting in use. */
export interface SettingInUse {
  readonly name: string
  readonly value: string
  /** The file, variable or option that sets it; `default` or `simulator`. */
  readonly from: string
}

interface SettingSources {
  /** The settings of file, environment and options. */
  readonly loaded: Settings
  /** Where they come from. */
  readonly origins: ReadonlyMap<string, string>
}

/** All settings that have a value, and where it comes from. Confidential values are not shown. */
export const listSettings = (settings: Settings, { loaded, origins }: SettingSources): readonly SettingInUse[] => {
  const before = new Map(flattenSettings(loaded))
  const redact = createRedactor(settings)
  return flattenSettings(settings)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => ({
      name,
      value: isConfidential(name.replace(/\..*/, '')) ? '(not shown)' : typeof value === 'string' ? value : redact(JSON.stringify(value)),
      from: before.get(name) === value ? (origins.get(name)?.replace(`${name} in `, '') ?? 'default') : 'simulator',
    }))
}

const COLUMNS: readonly TextColumn<SettingInUse>[] = [
  { title: 'setting', align: 'left', cell: ({ name }) => clean(name) },
  { title: 'from', align: 'left', cell: ({ from }) => clean(from) },
  { title: 'value', drop: 1, align: 'left', cell: ({ value }) => clean(value) },
]

/** A table of the settings that are not defaults, and the defaults in one paragraph. */
export const settingLines = (settings: readonly SettingInUse[], columns: number): readonly TextLine[] => {
  const own = settings.filter(({ from }) => from !== 'default')
  const defaults = settings.filter(({ from }) => from === 'default').map(({ name, value }) => `${name} ${value}`)
  return [
    [['Settings', 'bold']],
    ...(own.length === 0 ? [] : renderFittingTable(COLUMNS, own, columns)),
    ...(defaults.length === 0 ? [] : wrapLines(`default: ${defaults.join(', ')}`, columns)),
  ]
}
