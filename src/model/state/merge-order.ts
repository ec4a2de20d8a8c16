/** One branch of a train, as far as its place in it goes. */
export interface Car {
  key: string;
  /** Keys of cars that have to be in front of it. */
  after: readonly string[];
}

/** What others wait for comes first; among the rest the given order stays. */
export function inOrder<T extends Car>(cars: readonly T[]): T[] {
  const left = new Map(cars.map((car) => [car.key, car]));
  const ordered: T[] = [];
  while (left.size > 0) {
    const free = [...left.values()].find((car) => !car.after.some((key) => left.has(key)));
    // Cars that wait for each other cannot be put right here; they go as they came.
    const next = free ?? ([...left.values()][0] as T);
    left.delete(next.key);
    ordered.push(next);
  }
  return ordered;
}

/** Cars that need one of these, directly or through others. */
export function dependentsOf<T extends Car>(cars: readonly T[], keys: Iterable<string>): T[] {
  const needed = new Set(keys);
  const found = new Set<T>();
  for (let grown = true; grown; ) {
    grown = false;
    for (const car of cars) {
      if (found.has(car) || !car.after.some((key) => needed.has(key))) continue;
      found.add(car);
      needed.add(car.key);
      grown = true;
    }
  }
  return cars.filter((car) => found.has(car));
}

/**
 * How many cars make a train red, of a train that is green with none and red with all of them: one car less and it is
 * green. Asks about as seldom as possible.
 */
export async function firstRed(
  length: number,
  isGreen: (count: number) => Promise<boolean>,
): Promise<number> {
  let green = 0;
  let red = length;
  while (red - green > 1) {
    const middle = green + Math.floor((red - green) / 2);
    if (await isGreen(middle)) green = middle;
    else red = middle;
  }
  return red;
}
