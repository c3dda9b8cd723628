// The Dockerfile, the Compose files and the configurations of NATS beside them. No container runs here: they
// are read, and the nats-server checks its own files.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '@beaver/platform'
import { validate } from 'dockerfile-utils'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { natsServerBinary } from '../support/nats.ts'
import { isCommand, isVariable, read, root } from './known-names.ts'

const folder = 'deploy/docker'

describe('the Dockerfile', () => {
  const text = read(`${folder}/Dockerfile`)
  /** The instructions, each on one line, without comments. */
  const instructions = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const last = (name: string): string =>
    instructions.findLast((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? ''

  it('has no fault that a linter finds, and the linter finds one', () => {
    expect(validate(text).map(({ message }) => message)).toEqual([])
    expect(validate('FROM node:26\nRUNN x\n')).not.toEqual([])
  })

  it('ends as a user that is not root, with a health check and a command that exist', () => {
    expect(last('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(JSON.parse(last('ENTRYPOINT'))).toEqual(['beaver'])
    const check = JSON.parse(/ CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '[]') as string[]
    for (const [command = ''] of [check.slice(1), JSON.parse(last('CMD')) as string[]])
      expect([command, isCommand(command)]).toEqual([command, true])
    expect(check).toEqual(['beaver', 'health'])
    // Without it, nobody can be asked.
    expect(last('ENV')).toContain('BEAVER_STATUS_LISTEN=on')
    expect(last('VOLUME')).toContain('/data')
    const variables = [...last('ENV').matchAll(/(\w+)=/g)].map(([, name = '']) => name)
    expect(variables.filter((name) => !isVariable(name))).toEqual([])
  })

  it('names no image without a version, and runs no script of a package', () => {
    const images = [...text.matchAll(/^(?:ARG NODE_IMAGE=|FROM )(\S+)/gm)].map(([, image = '']) => image)
    expect(new Set(images)).toEqual(new Set([images[0], '${NODE_IMAGE}']))
    expect(images[0]).toMatch(/^node:\d+-[a-z]+-slim$/)
    expect(instructions.filter((line) => /npm (install|ci)/.test(line))).toEqual([
      expect.stringContaining('--ignore-scripts') as string,
    ])
    expect(instructions.filter((line) => line.startsWith('ADD '))).toEqual([])
  })
})

/** The keys of Compose that the files use. An unknown one is a mistake of writing. */
const condition = z.strictObject({
  condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
})
const placed = z.strictObject({ source: z.string(), target: z.string() })
const service = z.strictObject({
  image: z.string(),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  restart: z.enum(['unless-stopped', 'no']),
  init: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  stop_grace_period: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  configs: z.array(placed).default([]),
  secrets: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), condition).default({}),
  healthcheck: z
    .union([
      z.strictObject({ disable: z.literal(true) }),
      z.strictObject({
        test: z.array(z.string()),
        interval: z.string(),
        timeout: z.string(),
        start_period: z.string().optional(),
        retries: z.int(),
      }),
    ])
    .optional(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
})
const files = z.record(z.string(), z.strictObject({ file: z.string() }))
const composition = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), service),
  secrets: files,
  configs: files,
  volumes: z.record(z.string(), z.null()),
})

describe.each(['compose.yaml', 'compose.cluster.yaml'])('%s', (name) => {
  const written = Object.entries(parse(read(`${folder}/${name}`), { merge: true }) as object)
  const { services, secrets, configs, volumes } = composition.parse(
    Object.fromEntries(written.filter(([key]) => !key.startsWith('x-'))),
  )
  const all = Object.entries(services)

  it('has services with bounds, whose parts are declared', () => {
    for (const [title, of] of all) {
      expect([title, of.image]).toEqual([title, expect.stringMatching(/:[^:]*\d[^:]*$/) as string])
      const named = {
        services: Object.keys(of.depends_on),
        secrets: of.secrets,
        configs: of.configs.map(({ source }) => source),
        volumes: of.volumes.map((volume) => volume.split(':')[0] ?? ''),
      }
      const declared = { services, secrets, configs, volumes }
      for (const [kind, names] of Object.entries(named))
        expect([
          title,
          kind,
          names.filter((each) => !(each in declared[kind as keyof typeof declared])),
        ]).toEqual([title, kind, []])
      // What may write has volumes and /tmp.
      expect(of.volumes.length).toBeGreaterThan(0)
      expect(of.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
      expect(Object.keys(of.environment).filter((each) => !isVariable(each))).toEqual([])
    }
    for (const { file } of Object.values(configs))
      expect([file, existsSync(join(root, folder, file))]).toEqual([file, true])
    // The key of the model is the user's.
    expect(Object.values(secrets)).toEqual([{ file: './openai-api-key' }])
  })

  it('runs every process of Beaver by a command that exists, with a home of its own', () => {
    const beavers = all.filter(
      ([, { image, entrypoint }]) => image.includes('beaver') && entrypoint === undefined,
    )
    expect(new Set(beavers.map(([, { command }]) => command[0]))).toEqual(
      new Set(['daemon', 'projector', 'gateway']),
    )
    for (const [, { command }] of beavers) expect(isCommand(command[0] ?? '')).toBe(true)
    // Each is asked for its own health, at the addresses that the variable opens to the network.
    for (const [title, { healthcheck, environment, ports }] of beavers) {
      expect([title, healthcheck]).toMatchObject([title, { test: ['CMD', 'beaver', 'health'] }])
      const { status } = loadConfig(
        {},
        { BEAVER_STATUS_LISTEN: environment['BEAVER_STATUS_LISTEN'] },
        tmpdir(),
      )
      expect([title, status.listen]).toEqual([title, '0.0.0.0'])
      expect(ports.filter((port) => /:2010\d$/.test(port))).toEqual([])
    }
    const homes = beavers.map(([, of]) => of.volumes.find((volume) => volume.endsWith(':/data')))
    expect(new Set(homes).size).toBe(beavers.length)
    expect(homes).not.toContain(undefined)
    for (const [, of] of beavers) {
      const [beaver, others] = [of.environment['NATS_URL'] ?? '', Object.keys(services)]
      for (const url of beaver.split(',')) expect(others).toContain(new URL(url).hostname)
    }
  })

  it('waits for a server only if the server has a health check', () => {
    for (const [title, { depends_on }] of all)
      for (const [other, { condition: wanted }] of Object.entries(depends_on))
        if (wanted === 'service_healthy')
          expect([title, other, services[other]?.healthcheck ?? null]).toEqual([
            title,
            other,
            expect.objectContaining({ test: expect.anything() as unknown }),
          ])
  })
})

describe('the configuration', () => {
  it('of Beaver lets the published port of the gateway be asked', () => {
    const { gateway } = loadConfig({ config: join(root, folder, 'beaver.config.json') }, {}, tmpdir())
    expect(gateway).toMatchObject({ host: '0.0.0.0', port: 20_000 })
    expect(gateway.hosts).toContain('127.0.0.1:20000')
  })

  it.each(['nats.conf', 'nats.cluster.conf'])(
    '%s is valid for the nats-server, and syncs every write',
    (name) => {
      const place = mkdtempSync(join(tmpdir(), 'beaver-nats-conf-'))
      try {
        const text = read(`${folder}/${name}`)
        expect(text).toContain('sync_interval: always')
        const check = (config: string): string => {
          writeFileSync(join(place, name), config)
          return execFileSync(natsServerBinary(), ['-t', '-c', join(place, name)], {
            encoding: 'utf8',
            env: { NATS_SERVER_NAME: 'nats-1' },
            stdio: 'pipe',
          })
        }
        writeFileSync(join(place, 'users.conf'), 'authorization { users: [{ user: "u", password: "p" }] }\n')
        check(text)
        expect(() => check(text.replace('sync_interval', 'sync_intervall'))).toThrow(/sync_intervall/)
      } finally {
        rmSync(place, { recursive: true })
      }
    },
  )
})
