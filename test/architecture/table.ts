// The table: what each package may reach, and who may do what only some may. The reasons stand beside the
// lines. docs/ARCHITECTURE.md shows the same for people. A line that nothing needs any more is itself a
// finding.

/** What one package may import in its sources. */
export interface Row {
  /** Packages of this workspace; `platform/scheduling`: that export of one alone. */
  readonly packages: readonly string[]
  /** From the registry. */
  readonly modules: readonly string[]
  /** Modules of Node.js: these, or any. */
  readonly node: readonly string[] | 'any'
}

export const table: Readonly<Record<string, Row>> = {
  // Pure: no I/O, no clock, no randomness, but for the adapters that stand beside the ports Clock and Ids.
  // node:crypto is there to hash the chain and for ids, re2js to match in bounded time.
  'packages/core': { packages: [], modules: ['re2js', 'ulid', 'zod'], node: ['crypto'] },
  // The gate reads texts: figures, units, dates, quotations. core knows it only as a function it is given.
  'packages/evidence': { packages: ['core'], modules: [], node: [] },
  // What goes over the wire, for both sides of it: schemas alone, nothing that runs.
  'packages/contracts': { packages: ['core'], modules: ['zod'], node: [] },
  // Workflows as a third party writes them: on what workflows exports.
  'packages/team-patterns': { packages: ['core', 'workflows'], modules: ['zod'], node: [] },
  // cel-js evaluates the expressions of workflow definition files.
  'packages/workflows': { packages: ['core'], modules: ['@marcbachmann/cel-js', 'zod'], node: [] },

  // What an agent is. yaml reads the front matter of a skill.
  'packages/agent': {
    // platform: what Beaver is called where it is installed, so that a user's tools can import it.
    packages: ['core', 'workflows', 'platform/installation', 'platform/programs'],
    modules: ['xstate', 'yaml', 'zod'],
    node: 'any',
  },
  // The tools every workspace has: an agent does not know which there are. html-to-text and ipaddr.js are for
  // web_fetch, diff is for write_file.
  'packages/tools': {
    packages: ['core', 'workflows', 'agent'],
    modules: ['diff', 'html-to-text', 'ipaddr.js', 'zod'],
    node: 'any',
  },
  'packages/providers': {
    packages: ['core', 'agent'],
    modules: ['eventsource-parser', 'openai', 'undici', 'zod'],
    node: 'any',
  },
  // Models of the AI SDK behind the same port, by its specification alone; its loop and its retries are not
  // used.
  'packages/ai-sdk': { packages: ['core', 'agent', 'providers'], modules: ['@ai-sdk/provider'], node: [] },
  // Outside of providers: it is what they talk to, a server of its own process, and knows nothing of how they
  // ask.
  'packages/simulated-model': {
    packages: ['core', 'agent'],
    modules: ['zod'],
    node: ['crypto', 'http', 'net', 'timers/promises', 'url', 'util'],
  },

  // The supervisors. They see the journal, the queue and the blobs through ports only: no NATS here.
  'packages/runtime': {
    packages: ['core', 'evidence', 'contracts', 'workflows', 'agent'],
    modules: ['xstate', 'piscina'],
    node: ['fs', 'fs/promises', 'module', 'path', 'worker_threads'],
  },

  // What Beaver tells to systems that watch it. It counts what others hand to it.
  'packages/telemetry': {
    packages: ['core'],
    // The SDK of OpenTelemetry is loaded when spans are sent.
    modules: ['@opentelemetry/api', '@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/resources'],
    node: ['crypto', 'fs'],
  },

  // Adapters, one technology each.
  'packages/nats': {
    // How the operating system schedules the nats-server it starts, and the shape of a login; the rest of the
    // configuration is for composition roots.
    packages: [
      'core',
      'contracts',
      'platform/programs',
      'platform/scheduling',
      'platform/installation',
      'platform/make-folder',
      'platform/nats-login',
      'platform/os-user',
    ],
    modules: [
      '@nats-io/jetstream',
      '@nats-io/kv',
      '@nats-io/nats-core',
      '@nats-io/obj',
      '@nats-io/transport-node',
      'zod',
    ],
    node: 'any',
  },
  // The independent checker shares no code with what it checks: nothing of this workspace. node:fs is for
  // exports.
  'packages/check': {
    packages: [],
    modules: ['@nats-io/nats-core', 'zod'],
    node: ['crypto', 'fs', 'fs/promises'],
  },
  'packages/projection': { packages: ['core', 'contracts'], modules: [], node: ['crypto', 'fs', 'sqlite'] },
  // The client is a NATS client, and subjects are built in packages/nats only. It finds the system of a home
  // by platform. team-patterns reads a team's configuration and journal.
  'packages/client': {
    packages: ['core', 'contracts', 'nats', 'platform', 'team-patterns'],
    modules: ['@nats-io/nats-core'],
    node: ['crypto', 'path'],
  },

  // Model Context Protocol, both sides. Its server forwards calls through a port: it never boots a runtime.
  'packages/mcp': {
    packages: ['core', 'agent', 'workflows', 'platform'],
    modules: [
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/node',
      '@modelcontextprotocol/server',
      'zod',
    ],
    node: 'any',
  },

  // A knowledge base is a folder, an index in SQLite and an embedding endpoint. It runs in a thread of its
  // own.
  'packages/knowledge': {
    packages: ['core', 'agent', 'providers', 'platform/make-folder'],
    modules: [],
    node: ['crypto', 'fs', 'fs/promises', 'path', 'sqlite', 'worker_threads'],
  },

  // What a process needs from its machine. For composition roots.
  'packages/platform': {
    packages: ['core'],
    modules: ['zod'],
    // http: for the status of a process, which only GET reads.
    node: [
      'child_process',
      'crypto',
      'fs',
      'http',
      'module',
      'net',
      'os',
      'path',
      'url',
      'util',
      'v8',
      'vm',
      'worker_threads',
    ],
  },

  // Twins, contract suites, a scripted model, a driver of teams: for tests.
  'packages/testing': {
    packages: ['core', 'evidence', 'contracts', 'workflows', 'agent'],
    modules: ['vitest'],
    node: 'any',
  },

  // Composition roots: they choose the adapters, and the workflows besides those of v1.
  'packages/daemon': {
    packages: [
      'core',
      'contracts',
      'workflows',
      'team-patterns',
      'agent',
      'tools',
      'providers',
      'simulated-model',
      'mcp',
      'knowledge',
      'nats',
      'runtime',
      'platform',
      'telemetry',
    ],
    modules: ['@nats-io/nats-core'],
    // For the file of a profile, to which a person adds a workflow.
    node: ['fs/promises', 'path', 'util'],
  },
  'packages/projector': {
    packages: ['core', 'contracts', 'nats', 'platform', 'projection', 'telemetry'],
    modules: [],
    node: ['crypto', 'fs', 'fs/promises', 'path', 'timers/promises'],
  },
  'packages/gateway': {
    packages: ['core', 'platform', 'nats', 'client', 'channels', 'http', 'telemetry'],
    modules: ['@hono/node-server'],
    node: ['fs', 'fs/promises', 'http', 'net', 'path'],
  },
  // For programs of one's own: the library's face.
  'packages/service': {
    packages: [
      'core',
      'agent',
      'tools',
      'workflows',
      'team-patterns',
      'client',
      'nats',
      'platform',
      'daemon',
      'projector',
    ],
    modules: [],
    node: 'any',
  },

  // Channels see the queues and the tasks through ports and the client. node:crypto derives ids and signs.
  // imapflow, nodemailer, postal-mime and html-to-text are for e-mail, chat and its adapters for chat
  // networks; both are loaded if a channel needs them.
  'packages/channels': {
    packages: ['core', 'contracts', 'client'],
    modules: [
      '@chat-adapter/slack',
      '@chat-adapter/telegram',
      'chat',
      'html-to-text',
      'imapflow',
      'nodemailer',
      'postal-mime',
      'zod',
    ],
    node: ['crypto', 'module', 'worker_threads'],
  },

  // The HTTP interface as a function from requests to answers; it never listens.
  'packages/http': {
    packages: ['core', 'contracts', 'team-patterns', 'client', 'platform'],
    modules: ['@a2a-js/sdk', '@ag-ui/core', 'hono', 'zod'],
    node: ['crypto', 'fs', 'path'],
  },

  // The Agent Client Protocol, for editors. It reaches a system through a port.
  'packages/acp': {
    packages: ['core', 'client'],
    modules: ['@agentclientprotocol/sdk'],
    node: ['fs/promises', 'path', 'stream', 'url'],
  },

  // Entries of processes. Nobody imports them.
  'apps/cli': {
    // agent: it lists the tools, definitions and profiles of the configuration without a system.
    packages: [
      'core',
      'contracts',
      'workflows',
      'team-patterns',
      'agent',
      'tools',
      'nats',
      'client',
      'platform',
      'projection',
      'mcp',
      'acp',
      // `kb search` asks as a daemon here would: in the same index, with the same embedding endpoint.
      'knowledge',
      'daemon/endpoint-states',
      'daemon/model',
      'check',
      'console-app',
      'daemon-app',
      'projector-app',
      'gateway',
      'gateway-app',
      'channels',
      'http',
    ],
    // string-width and wrap-ansi know what a terminal does with text.
    modules: ['commander', 'picocolors', 'string-width', 'wrap-ansi'],
    node: 'any',
  },
  'apps/daemon': { packages: ['core', 'platform', 'daemon'], modules: [], node: 'any' },
  'apps/projector': { packages: ['core', 'platform', 'projector'], modules: [], node: 'any' },
  'apps/gateway': { packages: ['core', 'platform', 'gateway', 'console-app'], modules: [], node: 'any' },
  // Runs in a browser: of contracts the types alone, of core what reaches no schema.
  'apps/console': {
    packages: ['core', 'contracts', 'evidence'],
    modules: [
      '@tanstack/react-query',
      '@tanstack/react-router',
      '@tanstack/react-virtual',
      'eventsource-parser',
      'react',
      'react-dom',
      'react-markdown',
      'rehype-sanitize',
      'remark-gfm',
    ],
    node: [],
  },
}

/**
 * What tests may import besides. tools: real tools for loops and models to call. evidence: the gate, for teams
 * and for runs whose facts are judged. aimock is a fake provider
 * that others wrote, ai has mock models; openai asks the simulated model as any client would; zod gives the
 * tools that tests define their input.
 */
export const testRow: Row = {
  packages: ['testing', 'tools', 'evidence'],
  modules: ['@copilotkit/aimock', 'ai', 'openai', 'vitest', 'fast-check', 'zod'],
  node: 'any',
}

/**
 * What a browser loads: the console, and the exports of core that are made for pages. None of it reaches zod,
 * re2js or Node.js, which would add 90 KB, compressed.
 */
export const browserStarts: Readonly<Record<string, readonly string[]>> = {
  'apps/console/src/main.tsx': ['*'],
  '@beaver/core/cost': ['*'],
  '@beaver/core/task-view': ['*'],
  '@beaver/evidence/report': ['*'],
}

/** Places that are not held to a rule, and why. */
export interface Exception {
  readonly path: string
  /** What is excepted: the name of a use, the beginning of a text. */
  readonly what: string
  readonly why: string
}

/** Imports of what only running the program tells. */
export const computedImports: readonly Exception[] = [
  {
    path: 'packages/agent/src/tools/exported-tools.ts',
    what: 'import',
    why: 'modules with tools of a user, named in the configuration',
  },
  {
    path: 'packages/channels/src/chat-sdk/chat-sdk-channel.ts',
    what: 'import',
    why: 'adapters of the Chat SDK, named in the configuration',
  },
]

export const environmentReaders: readonly Exception[] = [
  {
    path: 'packages/platform/src/config/config.ts',
    what: 'process.env',
    why: 'the default of the argument `env`',
  },
  { path: 'packages/service/src/options.ts', what: 'process.env', why: 'the default of the option `env`' },
  {
    path: 'packages/daemon/src/worker.ts',
    what: 'process.env',
    why: 'the entry of a thread: like an app, it reads which optimisations are off',
  },
  {
    path: 'packages/daemon/src/daemon-workers.ts',
    what: 'process.env',
    why: 'MCP servers get the variables that the configuration names',
  },
  {
    path: 'packages/providers/src/http-post.ts',
    what: 'process.env',
    why: 'NODE_USE_ENV_PROXY and the proxies are settings of Node.js; its own fetch reads them too',
  },
  {
    path: 'packages/providers/src/openai-client.ts',
    what: 'process.env',
    why: 'the `openai` client reads headers there by itself, and other endpoints than OpenAI do not get them',
  },
  {
    path: 'packages/platform/src/process/programs.ts',
    what: 'process.env',
    why: 'the default of the option `env` of Node.js, to find the program on its PATH',
  },
  {
    path: 'packages/agent/src/tools/sandbox/sandbox.ts',
    what: 'process.env',
    why: 'a child gets PATH, HOME and the locale, and nothing else; that of a suspect tool what it would have had in the thread',
  },
  {
    path: 'packages/tools/src/files/recount-files.ts',
    what: 'process.env',
    why: 'a child gets PATH and nothing else',
  },
]

export const stdoutWriters: readonly Exception[] = [
  {
    path: 'packages/simulated-model/src/main.ts',
    what: 'process.stdout',
    why: 'a process entry: one line tells the parent its URL',
  },
]

export const programStarters: readonly Exception[] = ['spawn', 'spawnSync', 'execFile'].map((name) => ({
  path: 'packages/platform/src/process/programs.ts',
  what: `node:child_process.${name}`,
  why: 'the one place',
}))

export const folderMakers: readonly Exception[] = [
  {
    path: 'packages/platform/src/home/make-folder.ts',
    what: 'node:fs.mkdirSync',
    why: 'the one place',
  },
  {
    path: 'apps/cli/src/system/restore-backup.ts',
    what: 'node:fs/promises.mkdir',
    why: 'one folder, which must be new',
  },
  {
    path: 'packages/tools/src/files/new-path.ts',
    what: 'node:fs/promises.mkdir',
    why: 'one folder at a time, below a folder that is held open',
  },
]

export const impurities: readonly Exception[] = [
  {
    path: 'packages/core/src/ports/clock.ts',
    what: 'Date.now',
    why: 'systemClock, the adapter behind the port Clock, stands beside it',
  },
  {
    path: 'packages/core/src/ports/clock.ts',
    what: 'performance.now',
    why: 'steadyClock, an adapter behind the port Clock, stands beside it',
  },
  {
    path: 'packages/core/src/ports/clock.ts',
    what: 'setTimeout',
    why: 'systemClock, the adapter behind the port Clock, stands beside it',
  },
]

export const subjectBuilders: readonly Exception[] = [
  { path: 'packages/nats/src/subjects.ts', what: 'beaver.', why: 'the one place' },
  {
    path: 'packages/telemetry/src/traces/names.ts',
    what: 'beaver.',
    why: 'the names of attributes of spans',
  },
]

/** Ways around the types, in sources. Tests may forge ids, but have no `any` either. */
export const typeEscapes: readonly (Exception & { readonly times: number })[] = [
  {
    path: 'packages/client/src/task-input.test.ts',
    what: '@ts-expect-error',
    times: 8,
    why: 'its claims are that misspelt teams and arguments do not compile',
  },
  {
    path: 'bench/peers.ts',
    what: 'any',
    times: 1,
    why: 'a peer is installed on first use; it has no types here',
  },
  {
    path: 'packages/core/src/json.ts',
    what: 'as unknown as',
    times: 2,
    why: 'the types of z.json() are those of mutable data',
  },
  {
    path: 'packages/core/src/ids.ts',
    what: 'as unknown as',
    times: 4,
    why: 'an id gets its brand here, once for each kind',
  },
  {
    path: 'packages/core/src/graph/team-step.ts',
    what: 'as never',
    times: 2,
    why: 'a run id that the port Ids made',
  },
  {
    path: 'packages/tools/src/files/recount-files.ts',
    what: 'as unknown as',
    times: 1,
    why: 'readdir with encoding buffer gives names as buffers; its types do not say so',
  },
  {
    path: 'packages/runtime/src/worker/worker-pool.ts',
    what: 'as never',
    times: 1,
    why: 'a MessagePort of node:worker_threads is not what the types of Piscina call one',
  },
]

/** Where the words of a message are looked into, because whoever wrote it gives no code. */
export const wordsRead: readonly Exception[] = [
  {
    path: 'apps/cli/src/failures.ts',
    what: 'words',
    why: 'a problem that the message names already is not listed again',
  },
  {
    path: 'packages/agent/src/skills/read-front-matter.ts',
    what: 'words',
    why: 'the parser of YAML has no code for too many aliases',
  },
  {
    path: 'packages/nats/src/connect.ts',
    what: 'words',
    why: 'the library of NATS has one class for a login that is refused and one that is late',
  },
  {
    path: 'packages/providers/src/provider-failure.ts',
    what: 'words',
    why: 'a code that the message names already is not put before it',
  },
  {
    path: 'packages/providers/src/server-words.ts',
    what: 'words',
    why: 'servers of many makers, each with its own codes or none',
  },
  {
    path: 'packages/service/src/definitions.ts',
    what: 'words',
    why: 'a path that the message names already is not put before it',
  },
  {
    path: 'packages/workflows/src/definitions/program.ts',
    what: 'words',
    why: 'a sentence gets an end mark where it has none',
  },
  {
    path: 'packages/workflows/src/arguments/read-arguments.ts',
    what: 'words',
    why: 'JSON.parse of V8 gives its error no code',
  },
]

/** Where packages that take a Clock read real time, because what they watch lives in it. */
export const realTime: readonly Exception[] = [
  ...each(
    'agent/src/tools/process/process-group.ts',
    ['setTimeout'],
    'waits for the output of a process that has ended',
  ),
  ...each(
    'tools/src/command/run-command.ts',
    ['performance.now', 'setTimeout'],
    'measures and ends a process',
  ),
  ...each('tools/src/files/recount-files.ts', ['setTimeout'], 'ends a process'),
  ...each('tools/src/web/web-fetch.ts', ['AbortSignal.timeout'], 'ends a request'),
  ...each('tools/src/web/web-search.ts', ['AbortSignal.timeout'], 'ends a request'),
  ...each('agent/src/tools/cell/in-cell.ts', ['setTimeout'], 'ends a process'),
  ...each('agent/src/tools/cell/in-cell.ts', ['setTimeout'], 'ends a thread'),
  ...each(
    'agent/src/tools/cell/serve-call.ts',
    ['performance.now', 'setTimeout'],
    'is a clock: that of core would load all of core in each cell',
  ),
  ...each('nats/src/blob-store.ts', ['AbortSignal.timeout'], 'bounds the tries over a connection'),
  ...each('nats/src/erase-blob.ts', ['AbortSignal.timeout'], 'bounds the tries over a connection'),
  ...each('nats/src/direct-read.ts', ['setInterval'], 'notices silence on a connection'),
  ...each(
    'nats/src/embedded-server.ts',
    ['Date.now', 'node:timers/promises.setTimeout', 'setTimeout'],
    'starts and ends a process',
  ),
  ...each('nats/src/line.ts', ['performance.now', 'setTimeout'], 'notices silence on a connection'),
  ...each('nats/src/memory-watch.ts', ['setTimeout'], 'notices silence on a connection'),
  ...each('nats/src/peers.ts', ['setInterval'], 'announces this process to others'),
  ...each('nats/src/journal.ts', ['performance.now', 'setTimeout'], 'is a clock: the time of the server'),
  ...each('nats/src/stream-pulse.ts', ['setInterval'], 'notices silence on a connection'),
  ...each(
    'providers/src/call-watch.ts',
    ['setTimeout'],
    'puts off its timer for each piece of an answer, which the port cannot do as cheaply',
  ),
  ...each(
    'providers/src/openai-client.ts',
    ['AbortSignal.timeout'],
    'ends a request for a token, which several calls wait for',
  ),
  ...each('providers/src/provider-bundle.ts', ['process.hrtime'], 'makes a Clock that all threads share'),
  ...each('simulated-model/src/process.ts', ['setTimeout'], 'starts and ends a process'),
  ...each(
    'simulated-model/src/server.ts',
    ['node:timers/promises.setTimeout'],
    'is a server that takes its time',
  ),
  ...each('runtime/src/worker/serve-shard.ts', ['performance.now'], 'notices that its process was stopped'),
  ...each('runtime/src/worker/shard.ts', ['performance.now', 'setTimeout'], 'watches and ends a thread'),
  ...each(
    'runtime/src/worker/thread-vitals.ts',
    ['setInterval'],
    'tells that the event loop of a thread turns',
  ),
  ...each(
    'runtime/src/worker/worker-pool.ts',
    ['performance.now', 'setInterval', 'setTimeout'],
    'watches and starts threads',
  ),
]

function each(path: string, uses: readonly string[], why: string): Exception[] {
  return uses.map((what) => ({ path: `packages/${path}`, what, why }))
}

/** What a row names although nothing imports it. */
export const reachedOtherwise: readonly Exception[] = [
  { path: 'packages/tools', what: 'html-to-text', why: 'a cell requires it, and nothing else loads it' },
  { path: 'packages/channels', what: 'html-to-text', why: 'a mail without plain text requires it' },
  { path: 'apps/cli', what: '@beaver/console-app', why: '`gateway` serves its pages' },
  { path: 'apps/gateway', what: '@beaver/console-app', why: 'it serves its pages' },
  { path: 'apps/cli', what: '@beaver/daemon-app', why: '`up` starts its entry' },
  { path: 'apps/cli', what: '@beaver/gateway-app', why: '`up` starts its entry' },
  { path: 'apps/cli', what: '@beaver/projector-app', why: '`up` starts its entry' },
]

/** Values that are exported for somebody outside of this repository. `*`: whatever the file exports. */
export const exportedForOthers: readonly Exception[] = [
  { path: 'packages/service/src/index.ts', what: '*', why: 'programs that embed Beaver import it' },
  { path: 'packages/daemon/src/worker.ts', what: 'shard', why: 'Piscina calls it by its name' },
  {
    path: 'packages/tools/src/web/html-text.ts',
    what: 'htmlToTextTool',
    why: 'a cell finds it by the URL of the module',
  },
  {
    path: 'packages/testing/src/index.ts',
    what: 'memoryMemoryStore',
    why: 'the twin of a port, for whoever tests against it',
  },
]

/** Names that packages export with two meanings. */
export const namesWithTwoMeanings: readonly Exception[] = []

/** Lines a function may have. */
export const functionLinesMax = 110

/** Lines a file may have. */
export const linesMax = 750
