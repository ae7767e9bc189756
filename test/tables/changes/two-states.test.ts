import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readRepairedJson } from '../../../src/tables/changes/two-states.js'
import { temporaryFolder } from '../../support/folders.js'

it('compares broken texts of an earlier version as repaired', () => {
  const path = join(temporaryFolder(), 'news.json')
  writeFileSync(path, JSON.stringify({ Title: 'a \ud83d\0' }))
  expect(readRepairedJson(path)).toEqual({ Title: 'a \ufffd\ufffd' })
})
