import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'

// Bundles the web page. The browser loads a view's own libraries, such as the charts, only with that view.

/**
 * Browsers ignore the indentation of templates, which would be a tenth of the script, and a line break before
 * these elements.
 */
const BLOCK =
  /\n[ \t]+(?=<\/?(?:section|table|thead|tbody|tr|th|td|div|dl|p|h[1-3]|ul|svg|path|rect|text|g)\b)/g
const withoutIndentation = {
  name: 'without-indentation',
  transform: {
    filter: { id: /[\\/]src[\\/]web[\\/]page[\\/].*\.ts$/ },
    // Any other line break stays: it may end a statement.
    handler: (code) => code.replace(BLOCK, '').replace(/\n[ \t]+/g, '\n'),
  },
}

/** Writes `dist/bundle/web`; resolves to its scripts. */
export const buildPage = async (root) => {
  const [source, folder] = [join(root, 'src/web/page'), join(root, 'dist/bundle/web')]
  const { output } = await build({
    cwd: root,
    input: { page: join(source, 'main.ts'), theme: join(source, 'theme.ts') },
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    plugins: [withoutIndentation],
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    output: {
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name].js',
      minify: true,
      cleanDir: true,
    },
    logLevel: 'warn',
  })
  mkdirSync(folder, { recursive: true })
  for (const name of ['index.html', 'icon.svg']) copyFileSync(join(source, name), join(folder, name))
  const styles = readdirSync(join(source, 'styles')).sort()
  writeFileSync(
    join(folder, 'page.css'),
    styles.map((name) => readFileSync(join(source, 'styles', name), 'utf8')).join('\n'),
  )
  return output
}
