import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'

const ENTRY = join(import.meta.dirname, '../../dist/bundle/cli/scripstream.cjs')

/** Runs the command on a Node that claims to have another version. */
const runOn = (version: string) => {
  const folder = temporaryFolder()
  const preload = join(folder, 'version.cjs')
  writeFileSync(
    preload,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
  )
  return spawnSync(process.execPath, ['--require', preload, ENTRY, '--version'], { encoding: 'utf8' })
}

it.each(['12.22.0', '18.20.8', '20.18.3'])('says which Node it needs on %s, and exits with 2', (version) => {
  const { status, stdout, stderr } = runOn(version)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toBe(
    `error: scripstream needs Node 20.19 or newer; this is ${version} (${process.execPath})\nInstall a newer one from https://nodejs.org, or with a version manager: nvm install --lts\n`,
  )
})

it.each(['20.19.0', '22.0.0', '24.1.0'])('starts on %s', (version) => {
  expect(runOn(version)).toMatchObject({ status: 0, stderr: '' })
})
