import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

// Makes one file of the built command: to find and read hundreds of them takes most of a start. What only some runs need, those that
// log or simulate, stays in files beside it.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
// As deep as the command that is not bundled, so that both find the package's manifest.
const FOLDER = join(ROOT, 'dist/bundle/cli')

/** The index of undici loads clients, caches and mocks, of which a run uses nothing but the pool. */
const poolAlone = {
  name: 'pool-alone',
  load: {
    filter: { id: /[\\/]node_modules[\\/]undici[\\/]index\.js$/ },
    handler: () => "exports.Pool = require('./lib/dispatcher/pool')\nexports.buildConnector = require('./lib/core/connect')\n",
  },
}

// What a user may install besides stays where they installed it.
const { peerDependenciesMeta } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const external = Object.keys(peerDependenciesMeta)

const bundled = () =>
  build({
    cwd: ROOT,
    input: join(ROOT, 'dist/src/cli/main.js'),
    platform: 'node',
    external,
    // What Node takes are the CommonJS modules, of which nothing can be left out.
    resolve: { alias: { rxjs: join(ROOT, 'node_modules/rxjs/dist/esm/index.js') } },
    plugins: [poolAlone],
    output: { dir: FOLDER, format: 'esm', chunkFileNames: '[name].js', cleanDir: true },
    logLevel: 'warn',
  })

/** The package that a file belongs to. A manifest without a name only says how the files below it are read. */
const packageOf = (file) => {
  const folder = dirname(file)
  const manifest = join(folder, 'package.json')
  const { name, version, license } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {}
  return name && version ? { title: `${name} ${version} (${license})`, folder } : packageOf(folder)
}

const licenseOf = ({ title, folder }) => {
  const files = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file))
  return [title, ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n')
}

const { output } = await bundled()
const foreign = output.flatMap(({ moduleIds }) => moduleIds ?? []).filter((id) => /[\\/]node_modules[\\/]/.test(id))
const licenses = new Set(foreign.map((id) => licenseOf(packageOf(id))))
writeFileSync(join(FOLDER, 'LICENSES.txt'), `${[...licenses].sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
// As npm makes it when it installs the package: one that is linked stays a command when it is built again.
chmodSync(join(FOLDER, 'main.js'), 0o755)
