import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '@beaver/platform'
import { expect, it } from 'vitest'
import { styleOf } from '../text/style.ts'
import { modelsOf, modelsTable } from './models.ts'

it('lists each model with its endpoint, whether its key is there, its limits and its route, and no key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-models-'))
  const content = {
    model: { name: 'gpt-5-mini', fallback: ['deep', 'router/qwen3'], requests_per_minute_max: 500 },
    models: {
      deep: {
        endpoint: 'router',
        name: 'r1',
        protocol: 'responses',
        fallback: 'main',
        tokens_per_minute_max: 9_000,
      },
    },
    endpoints: { router: { base_url: 'https://router.example/v1', key: 'ROUTER_KEY', models: ['qwen3'] } },
  }
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify(content))
  const config = loadConfig({ trust: true }, { OPENAI_API_KEY: 'sk-main-key' }, folder)
  await rm(folder, { recursive: true })
  const listed = modelsOf(config)
  expect(modelsTable(listed, { columns: 160, style: styleOf(false) })).toEqual([
    'NAME          MODEL       ENDPOINT        PROTOCOL          KEY             LIMITS                             ROUTE',
    'main          gpt-5-mini  api.openai.com  chat_completions  OPENAI_API_KEY  500 requests/min                   main → deep → router/qwen3',
    'deep          r1          router.example  responses         none            500 requests/min, 9000 tokens/min  deep → main',
    'router/qwen3  qwen3       router.example  chat_completions  none            500 requests/min                   -',
  ])
  expect(JSON.stringify(listed)).not.toContain('sk-main-key')
})
