// What the log of a nats-server says about lost data. A server that finds a bad checksum drops the messages
// after it. Only its log and, until its next start, its own figures report this. A killed server builds its
// index again and loses nothing, so this is no finding.

/** Words by which nats-server reports that messages, or its records of them, are damaged or gone. */
const damage =
  /bad checksum|checksums? (?:did|do) not match|corrupt|rebuilding|messages?(?:\(s\))? lost|lost (?:data|\d+ messages?)|could not locate msg block|internal inconsistency|loadBlock error|Error loading msg|checkMsgs:|Failed restoring/i
const planned = /Stream state outdated|state is outdated/

/** The lines about damage to a stream, as `<time> <text>`. */
export function damageIn(log: string, stream: string): string[] {
  return log.split('\n').flatMap((line) => {
    if (!line.includes(stream) || !damage.test(line) || planned.test(line)) return []
    const [, time = '', text = line] = /^\[\d+\] (\S+ \S+) \[[A-Z]+\]\s*(.*)$/.exec(line) ?? []
    return [`${time} ${text}`.trim()]
  })
}
