// Prints the names that the libraries of tsconfig.json declare, which TestTypes compares with the runtime:
// node names.js FOLDER-OF-THE-PACKAGE-TYPESCRIPT ../../../authoring/tsconfig.json > names.txt
const fs = require("fs"), path = require("path");
const [folder, project] = process.argv.slice(2);
const ts = require(path.resolve(folder));

const { lib } = ts.parseConfigFileTextToJson(project, fs.readFileSync(project, "utf8")).config.compilerOptions;
const files = new Set(), interfaces = {}, variables = {}, names = new Set();

function read(library) {
  const file = ts.libMap.get(library.toLowerCase());
  if (files.has(file)) {
    return;
  }
  files.add(file);
  const source = ts.createSourceFile(file, fs.readFileSync(path.join(folder, "lib", file), "utf8"), ts.ScriptTarget.Latest, true);
  source.libReferenceDirectives.forEach((reference) => read(reference.fileName));
  declared(source.statements);
}

function declared(statements) {
  for (const statement of statements) {
    if (ts.isInterfaceDeclaration(statement)) {
      const one = (interfaces[statement.name.text] ??= { members: new Set(), bases: new Set() });
      statement.members.forEach((member) => member.name && one.members.add(member.name.getText().replaceAll('"', "")));
      statement.heritageClauses?.forEach((clause) => clause.types.forEach((type) => one.bases.add(type.expression.getText())));
    } else if (ts.isVariableStatement(statement)) {
      statement.declarationList.declarations.forEach((one) => (variables[one.name.getText()] = one.type?.getText()));
    } else if (ts.isFunctionDeclaration(statement)) {
      variables[statement.name.text] = undefined;
    } else if (ts.isModuleDeclaration(statement) && statement.name.text === "global") {
      declared(statement.body.statements);
    } else if (ts.isModuleDeclaration(statement)) {
      names.add(statement.name.text);
      statement.body.statements.filter(ts.isFunctionDeclaration).forEach((one) => names.add(`${statement.name.text}.${one.name.text}`));
    }
  }
}

function members(name, seen = new Set()) {
  if (!interfaces[name] || seen.has(name)) {
    return [];
  }
  seen.add(name);
  return [...interfaces[name].members, ...[...interfaces[name].bases].flatMap((base) => members(base, seen))];
}

const nameOf = (owner, member) => (member.startsWith("[") ? owner + member : `${owner}.${member}`);
lib.forEach(read);
for (const [name, type] of Object.entries(variables)) {
  names.add(name);
  const own = members(type);
  own.filter((member) => member !== "prototype").forEach((member) => names.add(nameOf(name, member)));
  const instance = name === "Iterator" ? "IteratorObject" : name;
  if (type !== name) {
    members(instance).forEach((member) => names.add(nameOf(`${name}.prototype`, member)));
  }
}
console.log([...names].sort().join("\n"));
