// Builds the console into dist/web, which the gateway serves under /console/. Beside the pages the build
// writes what it read, so that the set-up (scripts/lib/console.mjs) knows when to build again.
import { gzipSync } from 'node:zlib'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const root = fileURLToPath(new URL('../../', import.meta.url))
const own = fileURLToPath(new URL('.', import.meta.url))

/**
 * Writes `.inputs.json` beside the pages: the size and the time of each source file that the build read. And a
 * `.gz` beside each file, so that the gateway compresses nothing.
 */
const recordInputs: Plugin = {
  name: 'record-inputs',
  writeBundle({ dir = '' }) {
    for (const name of globSync('**/*.{js,css,html,svg}', { cwd: dir }))
      writeFileSync(join(dir, `${name}.gz`), gzipSync(readFileSync(join(dir, name)), { level: 9 }))
    const read = [...this.getModuleIds()].map((id) => id.replace(/\?.*$/, ''))
    const sources = read.filter((path) => path.startsWith(root) && !path.includes('/node_modules/'))
    const besides = ['index.html', 'vite.config.ts', 'package.json', 'public/icon.svg'].map((path) =>
      join(own, path),
    )
    const marks = [...new Set([...sources, ...besides])].toSorted().map((path) => {
      const { size, mtimeMs } = statSync(path)
      return [relative(root, path), size, mtimeMs]
    })
    writeFileSync(join(dir, '.inputs.json'), JSON.stringify(marks))
  },
}

export default defineConfig({
  base: '/console/',
  plugins: [recordInputs],
  // Rolldown's own JSX is enough: no Babel, no plugin of React.
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    outDir: 'dist/web',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // A `data:` URL would need a weaker Content-Security-Policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 400,
  },
})
