// What the log of a nats-server says about lost data. A server that finds a bad checksum drops the messages
// behind it, and only its log and, until its next start, its own figures say so. A server that was killed
// builds its index again at the next start. It loses nothing by that, and it is no finding.

/** Words with which nats-server says that messages, or what it knows of them, are damaged or gone. */
const damage =
  /bad checksum|checksums? (?:did|do) not match|corrupt|rebuilding|messages?(?:\(s\))? lost|lost (?:data|\d+ messages?)|could not locate msg block|internal inconsistency|loadBlock error|Error loading msg|checkMsgs:|Failed restoring/i
const planned = /Stream state outdated|state is outdated/

/** The lines that tell of damage to a stream, without the process and the level, as `<time> <text>`. */
export function damageIn(log: string, stream: string): string[] {
  return log.split('\n').flatMap((line) => {
    if (!line.includes(stream) || !damage.test(line) || planned.test(line)) return []
    const [, time = '', text = line] = /^\[\d+\] (\S+ \S+) \[[A-Z]+\]\s*(.*)$/.exec(line) ?? []
    return [`${time} ${text}`.trim()]
  })
}
