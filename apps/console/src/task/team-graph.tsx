// The graph of the team of the selection, or of the first team. A large team is drawn in groups, which open.
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { Graph } from './graph.tsx'
import { grouped, groupedFrom, type GraphItem } from './groups.ts'
import type { Item } from './tree.ts'

export interface TeamGraphProps {
  readonly items: readonly Item[]
  readonly selected: Item | null
  readonly select: (key: string | null) => void
}

const isTeam = ({ teamRunId, nodeId }: Item): boolean => teamRunId !== null && nodeId === null

export function TeamGraph({ items, selected, select }: TeamGraphProps): ReactNode {
  const teams = useMemo(() => items.filter(isTeam), [items])
  const chosen = teams.find(({ teamRunId }) => teamRunId === selected?.teamRunId) ?? teams[0]
  const teamRunId = chosen?.teamRunId ?? null
  const nodes = useMemo(
    () =>
      items.flatMap(({ key, name, isKept, nodeId, dependsOn, teamRunId: of, ...item }): GraphItem[] => {
        if (nodeId === null || of !== teamRunId) return []
        const status = isKept ? 'kept' : item.status
        return [{ key, id: nodeId, name, status, durationMs: isKept ? null : item.durationMs, dependsOn }]
      }),
    [items, teamRunId],
  )
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const open = useCallback(
    (group: string) => setOpened((now) => new Set(now).add(`${teamRunId} ${group}`)),
    [teamRunId],
  )
  const isGrouped = nodes.length >= groupedFrom
  const key = selected?.key ?? null
  const drawn = useMemo(
    () => (isGrouped ? grouped(nodes, (group) => opened.has(`${teamRunId} ${group}`), key) : nodes),
    [isGrouped, nodes, opened, teamRunId, key],
  )
  if (chosen === undefined)
    return <p className="loading">This task has no team: one agent works on it. The tree shows it.</p>
  return (
    <>
      {teams.length < 2 ? null : (
        <label className="choose">
          Team
          <select value={chosen.key} onChange={({ target }) => select(target.value)}>
            {teams.map((team) => (
              <option key={team.key} value={team.key}>
                {team.name}, {team.what}
              </option>
            ))}
          </select>
        </label>
      )}
      {isGrouped ? (
        <p className="choose quiet small">
          {nodes.length} nodes, in groups. Enter or a click opens a group.
          <button type="button" disabled={opened.size === 0} onClick={() => setOpened(new Set())}>
            Close all groups
          </button>
        </p>
      ) : null}
      <Graph nodes={drawn} selected={key} select={select} open={open} />
    </>
  )
}
