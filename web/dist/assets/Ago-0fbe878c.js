import{j as t}from"./react-fe9d36a5.js";import{u as s,b as i,a as r}from"./now-bcb3adf6.js";function n({at:o}){const e=s();return t.jsx("time",{dateTime:o,title:r(o),children:i(o,e)})}export{n as A};
