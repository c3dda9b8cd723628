import { describe, expect, it } from 'vitest'
import { dependencies, graphOf, play, refuses, scripted, statusOf, structure } from '@beaver/testing'
import { agentTeam } from './agent-team.ts'
import type { Interaction } from './member-nodes.ts'

const members = ['Researcher', 'Writer', 'Reviewer']
const team = (strategy: string, more: object = {}) => ({
  strategy,
  members,
  message: '研究 Python 异步编程',
  ...more,
})
const graph = (strategy: string, more: object = {}, options = {}) =>
  graphOf(agentTeam.plan(team(strategy, more), options))
const plan = (...assignments: object[]): string => JSON.stringify({ plan: assignments })
const run = (strategy: string, more: object, answers: Record<string, string | null>) =>
  play(graph(strategy, more), scripted(answers))
const interactions = (text: string | undefined): Interaction[] => JSON.parse(text ?? '[]') as Interaction[]

describe('sequential', () => {
  it('member k works on the output of member k - 1, and the last output is the result', () => {
    const built = graph('sequential')
    expect(dependencies(built)).toEqual([
      ['Researcher', []],
      ['Writer', ['Researcher']],
      ['Reviewer', ['Writer']],
    ])
    const played = play(built, scripted({}))
    expect(played.result.final_output).toBe('Reviewer says')
    expect(played.result.outputs.map((each) => each.node_id)).toEqual(members)
  })

  it('shares the interactions before it, of which the failed are none', () => {
    const played = run('sequential', { share_interactions: true }, {})
    expect(played.told.get('Reviewer')?.from).toEqual(['#3 interactions', 'Writer'])
    expect(interactions(played.outputs.get('#3 interactions'))).toEqual([
      {
        member_name: 'Researcher',
        input: '研究 Python 异步编程',
        output: 'Researcher says',
        metadata: { node_id: 'Researcher' },
      },
    ])
  })

  it('a failure blocks those that come after', () => {
    const played = run('sequential', {}, { Writer: null })
    expect([statusOf(played, 'Reviewer'), played.team.outcome]).toEqual(['blocked', 'incomplete'])
  })
})

describe('broadcast', () => {
  it('asks all at the same time and puts their answers together', () => {
    expect(dependencies(graph('broadcast')).map(([, from]) => from)).toEqual([[], [], []])
    expect(run('broadcast', {}, {}).result.final_output).toBe(
      '## Researcher\n\nResearcher says\n\n## Writer\n\nWriter says\n\n## Reviewer\n\nReviewer says',
    )
  })

  it('with a coordinator has it write the result, told of what failed by id and class', () => {
    const played = run('broadcast', { coordinator: 'Chief' }, { Writer: null })
    expect(played.told.get('Chief')?.from).toEqual(['Researcher', 'Reviewer'])
    expect(played.told.get('Chief')?.instruction).toContain('"Writer": failed (tool_crash)')
    expect(played.told.get('Chief')?.instruction).not.toContain('secret')
    expect([played.result.final_output, played.team.outcome]).toEqual(['Chief says', 'incomplete'])
    expect(statusOf(run('broadcast', { coordinator: 'Chief' }, { '*': null }), 'Chief')).toBe('blocked')
  })

  it('leaves the coordinator out when the answers are concatenated', () => {
    expect(
      graph('broadcast', { coordinator: 'Chief', aggregate: 'concatenate' }).nodes.map(
        (node) => node.node_id,
      ),
    ).toEqual(members)
  })

  it('one after the other tells nobody what the others said', () => {
    const played = run('broadcast', { concurrent: false }, { Researcher: null })
    expect(played.ran).toEqual(members)
    expect(played.outputs.get('#2 gate')).toBe('Researcher has ended; it is your turn.')
    expect(played.told.get('Writer')?.from).toEqual(['#2 gate'])
  })

  it('sharing interactions makes it one after the other', () => {
    const played = run('broadcast', { share_interactions: true }, { Researcher: null })
    expect(interactions(played.outputs.get('#3 interactions')).map((each) => each.member_name)).toEqual([
      'Writer',
    ])
    expect(played.told.get('Reviewer')?.from).toEqual(['#3 interactions'])
  })
})

describe('round_robin', () => {
  it('gives task k to member k mod n, all at the same time', () => {
    const played = run('round_robin', { tasks: ['t1', 't2', 't3', 't4'] }, {})
    expect(structure(played)).toEqual([
      ['Researcher #1', []],
      ['Writer #2', []],
      ['Reviewer #3', []],
      ['Researcher #4', []],
    ])
    expect(played.told.get('Researcher #4')?.instruction).toBe('Your task:\nt4')
    expect(played.result.final_output).toContain('## Researcher #4\n\nResearcher #4 says')
  })

  it('sharing interactions makes it one after the other, and a failure stops nobody', () => {
    const played = run(
      'round_robin',
      { tasks: ['t1', 't2', 't3'], share_interactions: true },
      { 'Researcher #1': null },
    )
    expect(interactions(played.outputs.get('#3 interactions'))).toMatchObject([
      { member_name: 'Writer', input: 't2' },
    ])
    expect(played.ran).toEqual(['Researcher #1', 'Writer #2', 'Reviewer #3'])
  })

  it.each([
    [0, 'Researcher'],
    [1, 'Writer'],
    [5, 'Reviewer'],
    [300, 'Researcher'],
  ])('without tasks gives the message to the member in turn: after %i teams to %s', (turn, name) => {
    expect(dependencies(graph('round_robin', {}, { turn }))).toEqual([[name, []]])
  })
})

describe('leader_worker', () => {
  const good = plan(
    { member: 'Researcher', task: 'Find out.' },
    { member: 'Writer', task: 'Write it.', depends_on: ['Researcher'] },
  )

  it('is the default: a coordinator plans, members work, the coordinator writes the result', () => {
    const played = play(
      graphOf(agentTeam.plan({ members, message: 'x' })),
      scripted({ 'Coordinator #plan': `My plan:\n${good}` }),
    )
    expect(structure(played)).toEqual([
      ['Coordinator #plan', []],
      ['Researcher #1', []],
      ['Writer #2', ['Researcher #1']],
      ['Coordinator #synthesis', ['Researcher #1', 'Writer #2']],
    ])
    expect(played.told.get('Writer #2')?.instruction).toContain('The coordinator asks of you:\nWrite it.')
    expect([played.result.final_output, played.team.outcome, played.diagnostics]).toEqual([
      'Coordinator #synthesis says',
      'complete',
      [],
    ])
  })

  it('asks for the result, and not for the plan, in the form of the coordinator', () => {
    const output_schema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
    const built = graphOf(
      agentTeam.plan({ members, message: 'x', coordinator: { name: 'Chief', output_schema } }),
    )
    expect(built.nodes[0]).not.toHaveProperty('output_schema')
    const played = play(built, scripted({ 'Chief #plan': good, 'Chief #synthesis': '{"total":3}' }))
    expect(played.team.graph.nodes.find(({ node_id }) => node_id === 'Chief #synthesis')).toMatchObject({
      output_schema,
    })
  })

  it('tells the coordinator who there is, and keeps its own prompt', () => {
    const built = graph('leader_worker', {
      members: [{ name: 'Searcher', instruction: 'Search.', allowed_tool_names: ['web_search'] }, 'Writer'],
      coordinator_role: {
        name: 'Chief',
        system_prompt: '你是团队协调者',
        required_evidence: [{ kind: 'output_length', min: 1 }],
      },
    })
    expect(built.nodes[0]).toMatchObject({
      node_id: 'Chief #plan',
      agent: { name: 'Chief', system_prompt: '你是团队协调者' },
      required_evidence: [],
    })
    expect(built.nodes[0]).toMatchObject({
      instruction: expect.stringContaining('- Searcher: Search. (tools: web_search)\n- Writer\n') as string,
    })
  })

  it('drops what names no member, and takes no step for it', () => {
    const wrong = plan(
      { member: 'Resaercher', task: 'x' },
      { member: 'Writer', task: 'y', depends_on: ['Resaercher', 'nobody'] },
    )
    const played = run('leader_worker', {}, { 'Coordinator #plan': wrong })
    expect(played.ran).toEqual(['Coordinator #plan', 'Writer #1', 'Coordinator #synthesis'])
    expect(played.diagnostics).toEqual(['unknown_member', 'missing_dependency', 'missing_dependency'])
  })

  it.each([
    ['prose', 'Researcher should begin.', 'holds no JSON object'],
    ['an empty plan', plan(), '"plan": is empty'],
    ['only unknown members', plan({ member: 'X', task: 'x' }), 'names none of the members'],
    [
      'a cycle',
      plan(
        { member: 'Writer', task: 'x', depends_on: ['Reviewer'] },
        { member: 'Reviewer', task: 'y', depends_on: ['Writer'] },
      ),
      '"Writer" -> "Reviewer" -> "Writer"',
    ],
    ['a task without a text', plan({ member: 'Writer', task: '' }), '"plan.0.task": is blank'],
  ])('asks once more after %s; after that everybody gets the message', (_, wrong, part) => {
    const repaired = run('leader_worker', {}, { 'Coordinator #plan': wrong, 'Coordinator #plan again': good })
    expect(repaired.told.get('Coordinator #plan again')?.instruction).toContain(part)
    expect([repaired.ran.length, repaired.diagnostics, repaired.team.outcome]).toEqual([
      5,
      ['plan_unusable'],
      'complete',
    ])
    const fallen = run('leader_worker', {}, { 'Coordinator #plan': wrong, 'Coordinator #plan again': wrong })
    expect(fallen.ran).toEqual([
      'Coordinator #plan',
      'Coordinator #plan again',
      'Researcher #1',
      'Writer #2',
      'Reviewer #3',
      'Coordinator #synthesis',
    ])
    expect([fallen.diagnostics, fallen.team.outcome]).toEqual([
      ['plan_unusable', 'plan_unusable', 'plan_fallback'],
      'complete',
    ])
  })

  it.each([
    ['an extra key', { plan: [{ member: 'Writer', task: 'Write it.', reason: 'Writes well.' }] }],
    [
      'analysis and synthesis around it (AT-06)',
      { analysis: 'x', plan: [{ member: 'Writer', task: 'Write it.' }], final_synthesis: 'y' },
    ],
    ['other names', { assignments: [{ agent: 'Writer', sub_task: 'Write it.', Dependencies: null }] }],
    ['a bare list', [{ assigned_to: 'Writer', instruction: 'Write it.', depends_on: '' }]],
  ])('reads a plan with %s', (_, answer) => {
    const played = run('leader_worker', {}, { 'Coordinator #plan': `Here it is:\n${JSON.stringify(answer)}` })
    expect([played.ran, played.diagnostics]).toEqual([
      ['Coordinator #plan', 'Writer #1', 'Coordinator #synthesis'],
      [],
    ])
    expect(played.told.get('Writer #1')?.instruction).toContain('Write it.')
  })

  it('reads dependencies by their usual name', () => {
    const tasks = [{ id: 1, member: 'Researcher', task: 'a' }, { member: 'Writer', task: 'b', dependencies: [1] }, { member: 'Reviewer', task: 'c', after: 'Writer, 1' }] // prettier-ignore
    expect(
      structure(run('leader_worker', {}, { 'Coordinator #plan': JSON.stringify({ tasks }) })).slice(1, -1),
    ).toEqual([
      ['Researcher #1', []],
      ['Writer #2', ['Researcher #1']],
      ['Reviewer #3', ['Writer #2', 'Researcher #1']],
    ])
  })

  it('names a task by its id, or all other tasks of a member by its name', () => {
    const many = plan(
      { id: 'late', member: 'Writer', task: '3', depends_on: ['Researcher'] },
      { member: 'Researcher', task: '1' },
      { member: 'Researcher', task: '2', depends_on: ['Researcher'] },
      { member: 'Reviewer', task: '4', depends_on: ['late'] },
    )
    expect(structure(run('leader_worker', {}, { 'Coordinator #plan': many })).slice(1, -1)).toEqual([
      ['Researcher #1', []],
      ['Researcher #2', ['Researcher #1']],
      ['Writer #3', ['Researcher #1', 'Researcher #2']],
      ['Reviewer #4', ['Writer #3']],
    ])
  })

  it('never takes more than max_steps steps, and drops nothing that another needs', () => {
    const backwards = plan(
      { id: 'c', member: 'Reviewer', task: '3', depends_on: ['b'] },
      { id: 'b', member: 'Writer', task: '2', depends_on: ['a'] },
      { id: 'a', member: 'Researcher', task: '1' },
    )
    const played = run('leader_worker', { max_steps: 4 }, { 'Coordinator #plan': backwards })
    expect(played.ran).toEqual(['Coordinator #plan', 'Researcher #1', 'Writer #2', 'Coordinator #synthesis'])
    expect(played.diagnostics).toEqual(['steps_exhausted'])
    const fallen = run('leader_worker', { max_steps: 3 }, { 'Coordinator #plan': 'no' })
    expect([fallen.ran, fallen.diagnostics]).toEqual([
      ['Coordinator #plan', 'Researcher #1', 'Coordinator #synthesis'],
      ['plan_unusable', 'plan_fallback', 'steps_exhausted'],
    ])
  })

  it('has a result when members failed, and says what failed; none when all did', () => {
    const played = run('leader_worker', {}, { 'Coordinator #plan': good, 'Writer #2': null })
    expect(played.told.get('Coordinator #synthesis')).toMatchObject({
      from: ['Researcher #1'],
      instruction: expect.stringContaining('"Writer #2": failed (tool_crash)') as string,
    })
    expect([played.result.final_output, played.team.outcome]).toEqual([
      'Coordinator #synthesis says',
      'incomplete',
    ])
    expect(
      statusOf(
        run('leader_worker', {}, { 'Coordinator #plan': good, 'Researcher #1': null }),
        'Coordinator #synthesis',
      ),
    ).toBe('blocked')
  })

  it('sharing interactions makes the plan one after the other', () => {
    const free = plan(
      { member: 'Researcher', task: 'a' },
      { member: 'Writer', task: 'b' },
      { member: 'Reviewer', task: 'c', depends_on: ['Writer'] },
    )
    const played = run(
      'leader_worker',
      { share_interactions: true },
      { 'Coordinator #plan': free, 'Researcher #1': null },
    )
    expect(played.told.get('Reviewer #3')?.from).toEqual(['Writer #2', '#3 interactions'])
    expect(interactions(played.outputs.get('#3 interactions'))).toEqual([])
  })

  it('keeps within the limit of edges', () => {
    const wide = plan(
      { id: 'r', member: 'Researcher', task: 'x' },
      ...Array.from({ length: 7 }, () => ({ member: 'Writer', task: 'y', depends_on: ['r'] })),
    )
    const small = graphOf(
      agentTeam.plan(team('leader_worker', { max_steps: 10 }), { limits: { edgesMax: 30 } }),
    )
    const played = play(small, scripted({ 'Coordinator #plan': wide, 'Coordinator #plan again': good }))
    expect(played.told.get('Coordinator #plan again')?.instruction).toContain(
      '31 edges; the limit edgesMax is 30',
    )
  })
})

describe('a shared state', () => {
  it('begins with its four keys, the message, and what is given', () => {
    const given = { task_context: { audience: 'beginners' }, custom_data: { sources: [] }, budget: 3 }
    expect(graph('sequential', { shared_state: given }).shared_state).toEqual({
      task_context: { message: '研究 Python 异步编程', audience: 'beginners' },
      member_outputs: {},
      coordination_plan: {},
      custom_data: { sources: [] },
      budget: 3,
    })
    expect(graph('sequential')).not.toHaveProperty('shared_state')
  })

  it('is given the plan and every output by code', () => {
    const many = plan(
      { member: 'Researcher', task: 'Find out.' },
      { member: 'Writer', task: 'Write it.', depends_on: ['Researcher'] },
    )
    const played = run('leader_worker', { shared_state: {} }, { 'Coordinator #plan': many })
    expect(played.team.sharedState).toMatchObject({
      coordination_plan: [
        { node_id: 'Researcher #1', member: 'Researcher', task: 'Find out.', depends_on: [] },
        { node_id: 'Writer #2', member: 'Writer', task: 'Write it.', depends_on: ['Researcher #1'] },
      ],
      member_outputs: { Researcher: ['Researcher #1 says'], Writer: ['Writer #2 says'] },
    })
    expect(run('sequential', {}, {}).team.sharedState).toEqual({})
  })

  it('keeps every output of a member that works several times', () => {
    const twice = plan({ member: 'Writer', task: '1' }, { member: 'Writer', task: '2' })
    const played = run('leader_worker', { shared_state: {} }, { 'Coordinator #plan': twice })
    expect(played.team.sharedState['member_outputs']).toEqual({
      Writer: ['Writer #1 says', 'Writer #2 says'],
    })
  })

  it('takes the name of a member with dots in it as one key', () => {
    const played = play(
      graphOf(agentTeam.plan({ strategy: 'broadcast', members: ['v1.2'], shared_state: {}, message: 'x' })),
      scripted({}),
    )
    expect(played.team.sharedState['member_outputs']).toEqual({ 'v1.2': ['v1.2 says'] })
  })

  it('is within reach of a member with a list of tools, but not of one that may use none', () => {
    const limited = [
      { name: 'a', allowed_tool_names: ['read_file'] },
      { name: 'b', allowed_tool_names: [] },
      { name: 'c' },
    ]
    const tools = (more: object): unknown =>
      graph('broadcast', { members: limited, ...more }).nodes.map(
        (node) => node.kind === 'agent' && node.allowed_tool_names,
      )
    expect(tools({ shared_state: {} })).toEqual([['read_file', 'team_shared_state'], [], null])
    expect(tools({})).toEqual([['read_file'], [], null])
  })
})

describe('AgentTeam refuses', () => {
  it.each([
    ['sequential', { members: [] }, 'invalid_arguments', 'members', 'empty'],
    ['sequential', { members: ['a', 'a'] }, 'duplicate_agent', 'members.1.name', '"a"'],
    ['sequential', { members: ['a#1'] }, 'invalid_agent_name', 'members.0.name', '"a#1"'],
    ['sequential', { message: undefined }, 'invalid_arguments', 'message', 'Say what the team must do'],
    ['sequential', { max_steps: 2 }, 'invalid_arguments', 'max_steps', 'needs 3 steps'],
    ['broadcast', { max_steps: 3, coordinator: 'd' }, 'invalid_arguments', 'max_steps', 'needs 4 steps'],
    ['leader_worker', { max_steps: 2 }, 'invalid_arguments', 'max_steps', 'needs 3 steps'],
    ['leader_worker', { coordinator: 'Writer' }, 'duplicate_agent', 'coordinator.name', '"Writer"'],
    ['leader_worker', { members: ['Coordinator'] }, 'duplicate_agent', 'coordinator.name', '"Coordinator"'],
    [
      'leader_worker',
      { coordinator: 'a', coordinator_role: 'b' },
      'invalid_arguments',
      'coordinator_role',
      'two names',
    ],
    ['sequential', { tasks: ['t'] }, 'invalid_arguments', 'tasks', 'round_robin'],
    ['sequential', { concurrent: true }, 'invalid_arguments', 'concurrent', 'broadcast'],
    ['round_robin', { aggregate: 'coordinator' }, 'invalid_arguments', 'aggregate', 'broadcast'],
    [
      'broadcast',
      { aggregate: 'coordinator' },
      'aggregator_required',
      'coordinator',
      '"coordinator" is missing',
    ],
    [
      'broadcast',
      { concurrent: true, share_interactions: true },
      'invalid_arguments',
      'concurrent',
      'share_interactions',
    ],
    ['voting', {}, 'invalid_arguments', 'strategy', '"strategy"'],
    ['sequential', { workspace_dir: '.' }, 'invalid_arguments', 'workspace_dir', '"workspace_dir"'],
    [
      'sequential',
      { shared_state: { a: 'x'.repeat(300_000) } },
      'invalid_arguments',
      'shared_state',
      'limit is 262144',
    ],
  ])('%s with %j', (strategy, more, code, path, part) => {
    refuses(agentTeam, team(strategy, more), { code, path, parts: [part] })
  })

  it('a team that may need more than the limits allow', () => {
    refuses(
      agentTeam,
      team('leader_worker', { max_steps: 60 }),
      { code: 'too_many_agents', path: 'max_steps', parts: ['agentsMax is 59'] },
      { limits: { agentsMax: 59 } },
    )
    expect(agentTeam.plan(team('leader_worker'), { limits: { agentsMax: 5 } }).ok).toBe(true)
    refuses(agentTeam, team('leader_worker', { max_steps: 500, share_interactions: true }), {
      code: 'too_many_edges',
      path: 'max_steps',
      parts: ['edgesMax'],
    })
  })

  it('but not a coordinator that the strategy does not ask', () => {
    expect(agentTeam.plan(team('sequential', { coordinator: 'Writer', enable_logging: true })).ok).toBe(true)
  })
})
